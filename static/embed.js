// A missing child in each <div data-persona404>, or at the page's end.
(() => {
  const ABOUT = {};
  const WORDS = {
    __proto__: null,
    es: {
      sought: "Se busca", demo: "Ejemplo: esta persona no existe",
      lead: "| tampoco.", anyone: "Esta persona", help: "¿Puedes ayudar?", photo: "Foto de |",
      missing: "Falta desde hace | (|)", since: "Se busca desde el |", place: ", en |",
      was: "Tenía |", now: "; hoy tiene unos |", is: "Tiene |",
      inform: "Sé algo: avisar", call: "Llamar al |", share: "Compartir",
      another: "Ver otra", sorry: "Ahora no podemos mostrar a nadie más.",
      source: "Fuente: |", read: " · leída |", old: " · sin actualizar desde el |",
      back: "Volver al sitio",
    },
    en: {
      sought: "Missing", demo: "Example: this person does not exist",
      lead: "| is missing too.", anyone: "This person", help: "Can you help?", photo: "Photo of |",
      missing: "Missing for | (since |)", since: "Being sought since |", place: ", in |",
      was: "Was | old", now: "; now about |", is: "Is | old",
      inform: "Report what you know", call: "Call |", share: "Share",
      another: "Show another", sorry: "We cannot show anyone else now.",
      source: "Source: |", read: " · checked |", old: " · not updated since |",
      back: "Back to the site",
    },
  };
  const STYLE = `
    :host { display: block !important; box-sizing: border-box !important; width: 100% }
    * { box-sizing: border-box; margin: 0 }
    slot { display: block }
    section {
      all: initial; color: inherit; display: block; direction: ltr;
      max-width: 40em; margin: 1em auto;
      font: medium/1.4 var(--persona404-font, system-ui, sans-serif);
    }
    section > * { font-size: max(1em, 1rem) }
    article { /* dark if the page's text is light */
      --ink: var(--persona404-ink, oklch(from currentcolor clamp(.22, 99 * (l - .7), .96) 0 0));
      --paper: var(--persona404-paper, oklch(from currentcolor clamp(.22, 99 * (.7 - l), 1) 0 0));
      --accent: var(--persona404-accent, #b3261e); --radius: var(--persona404-radius, 14px);
      overflow: hidden; overflow-wrap: break-word; color: var(--ink); background: var(--paper);
      border: 1px solid #8888; border-radius: var(--radius); margin-top: .5em;
      container-type: inline-size;
    }
    .light { --ink: var(--persona404-ink, #1c1b1a); --paper: var(--persona404-paper, #fff) }
    .dark { --ink: var(--persona404-ink, #f3f0ec); --paper: var(--persona404-paper, #1c1b1a) }
    header, footer, .body, .more {
      display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline;
    }
    header { padding: .5em 1.5em; font-size: .8em; color: #fff; background: var(--accent) }
    h2 { font-size: 1em; text-transform: uppercase }
    .body { align-items: stretch }
    .photo {
      --height: clamp(160px, 100svh - 440px, 264px);
      flex: 1 1 18em; min-height: var(--height); background: #8883;
    }
    .photo:empty {
      background: radial-gradient(circle at 50% 40%, #888 21%, #0000 0),
        radial-gradient(circle at 50% 110%, #888 29%, #0000 0) #8883;
    }
    img { display: block; width: 100%; height: var(--height); object-fit: contain }
    .text { flex: 1 1 18em; min-width: 0; padding: .8em 1.2em .3em }
    h3 {
      margin-bottom: .2em; font-size: clamp(1.1em, 7cqi, 1.5em); line-height: 1.12;
      scroll-margin-top: 300px;
    }
    a, button {
      display: inline-flex; align-items: center; justify-content: center;
      min-height: 44px; padding: .3em .5em; font: inherit; color: inherit;
      background: none; border: 0; text-align: center; text-decoration: underline;
    }
    :focus-visible { outline: 3px solid; outline-offset: 2px }
    .do, .call {
      display: flex; margin-top: .6em; font-weight: bold; text-decoration: none;
      border: 1px solid #888; border-radius: var(--radius);
    }
    .do { color: #fff; background: var(--accent); outline-color: var(--ink) }
    footer { font-size: .85em }
    footer a { padding: 0 }
    p a { display: inline }
    .small .body { gap: .8em; padding: .8em; font-size: .9em }
    .small .photo { --height: 8.5em; flex: none; align-self: flex-start; width: 7em }
    .small .text { flex: 1 8em; padding: 0 }
    .small .do, .small .call { display: inline-flex; margin-right: 1em }
    .small .more, .small .back { display: none }
    @container (min-width: 36em) {
      .photo { --height: clamp(160px, 100svh - 300px, 352px) }
    }
    @container (max-width: 17em) {
      .small .photo { --height: 11em; width: 100% }
    }
    @media print {
      article, header { color: #000; background: #fff }
      .do, .more, .back, .photo:empty { display: none !important }
    }`;

  // <img name="body"> would hide document.body.
  const page = (name) => Reflect.get(Document.prototype, name, document);
  const html = page("documentElement");
  const script = page("currentScript");
  const service = new URL(".", script.src).href;

  // Without the page's own Object.prototype.
  const plain = (own) => ({ __proto__: null, ...own });
  const about = plain(ABOUT);

  // Answers become text, never markup.
  const element = (name, properties, ...children) => {
    const made = Object.assign(page("createElement").call(document, name), properties);
    made.append(...children.flat().filter(Boolean));
    return made;
  };
  const link = (href, text, className = "") =>
    element("a", { href, className, rel: "noreferrer" }, text);

  const get = async (path) => {
    const answer = await fetch(service + path, plain({ signal: AbortSignal.timeout(3000) }));
    const json = await answer.json();
    if (!answer.ok) throw answer.status;
    return [json, answer.headers.get("Last-Modified")];
  };

  const daysSince = (date) =>
    Math.round((new Date().setHours(0, 0, 0, 0) - new Date(date).setHours(0, 0, 0, 0)) / 864e5);

  const start = (place) => {
    const option = (name) =>
      place.getAttribute("data-" + name) || script.getAttribute("data-" + name) || "";
    let lang = ["", option("lang"), html.lang, ...navigator.languages, "es"]
      .join(" ").match(/ (es|en|pt|it|fr)/i)[1].toLowerCase();
    let words = WORDS[lang];
    let root, note;
    let shown, drawn, answered, failed, asking;
    let half, unseen, timer;

    const say = (key, ...values) =>
      words[key].split("|").flatMap((part, n) => [part, values[n] ?? ""]);
    const long = (date) => date.toLocaleDateString(lang, plain({ dateStyle: "long" }));
    const count = (number, unit) =>
      number.toLocaleString(lang, plain({ style: "unit", unit, unitDisplay: "long" }));
    const bold = (text) => element("b", {}, text);

    const span = (months) =>
      months > 23 ? count(Math.floor(months / 12), "year") : count(months, "month");

    const facts = ({ fecha, edad, lugar }) => {
      const [day, month, year] = fecha.split("/");
      const date = new Date(year, month - 1, day);
      const today = new Date();
      const days = daysSince(date);
      const months = (today.getFullYear() - year) * 12 + today.getMonth() + 1 - month
        - (today.getDate() < day);
      const age = parseInt(edad);
      const baby = /mes/.test(edad);
      const { edad_de, fecha_de } = about;
      return element("p", {},
        fecha_de || days < 1 ? say("since", long(date))
          : say("missing", bold(months ? span(months) : count(days, "day")), long(date)),
        lugar && say("place", bold(lugar)), ". ",
        say(edad_de ? "is" : "was", count(age, baby ? "month" : "year")),
        !edad_de && !fecha_de && months > 11
          && say("now", bold(baby ? span(age + months) : age + Math.floor(months / 12))), ".");
    };

    const draw = ([person, modified]) => {
      const { id, nombre, foto, url } = person;
      const days = daysSince(modified);
      const lines = Object.values(person).join("\n");
      if (!/^.+-\d+\n.+(\n\d.+){2}\n.*(\nhttps:.+){2}$/.test(lines)) throw lines;
      answered = Date.now();
      failed = false;
      const all = lines + modified + days;
      if (all === drawn) return;
      drawn = all;
      const { title, website, phone, demo, photos } = about;

      const home = option("home") || "/";
      const childPage = `${service}p/${id}`;
      const share = navigator.share ? element("button", {
        onclick: () => navigator.share(plain({ url: childPage })).catch(() => {}),
      }, words.share) : link(childPage, words.share);

      const read = days > 1 ? say("old", long(new Date(modified))) : say("read",
        new Intl.RelativeTimeFormat(lang, plain({ numeric: "auto" }))
          .format(days > 0 ? -1 : 0, "day"));

      const photo = element("div", { className: "photo" }, element("img", {
        alt: say("photo", nombre).join(""),
        referrerPolicy: "no-referrer",
        loading: "lazy", // the page's load does not wait
        onerror: ({ target }) => target.remove(),
        src: photos ? `${service}foto/${id}?nombre=${encodeURIComponent(nombre)}` : foto,
      }));
      const heading = element("h3", { tabIndex: -1, translate: false }, nombre);
      note = element("output");
      const card = element("article", { className: `${option("size")} ${option("theme")}` },
        element("header", {},
          element("h2", {}, words.sought), element("span", {}, demo && words.demo)),
        element("div", { className: "body" }, photo,
          element("div", { className: "text" }, heading, facts(person),
            link(url, words.inform, "do"),
            phone && link("tel:" + phone.replace(/[^+\d]/g, ""), say("call", phone), "call"),
            element("div", { className: "more" },
              share, element("button", { onclick: show }, words.another)),
            note,
            element("footer", {},
              element("p", {}, say("source", link(website || url, title || new URL(url).host)),
                modified && read),
              /^(\/|https:)/.test(home) && link(home, words.back, "back")))));
      const lead = element("p", { translate: false },
        say("lead", nombre.length > 30 ? words.anyone : nombre), " ", words.help);

      if (!root) attach();
      const focused = root.activeElement;
      const ariaLabel = `${words.sought}: ${nombre}`;
      root.replaceChildren(
        element("section", { lang, ariaLabel }, option("lead") && lead, card));
      if (focused) heading.focus();
      clearTimeout(timer);
      shown = id;
      half = false;
      sight.disconnect();
      sight.observe(photo);
    };

    const attach = () => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(STYLE);
      root = place.attachShadow(plain({ mode: "open" }));
      root.adoptedStyleSheets = [sheet];
      addEventListener("visibilitychange", () => { watch(); check(); });
      addEventListener("pageshow", ({ persisted }) => {
        if (persisted) answered = 0;
        check();
      });
      setInterval(check, 5000);
    };

    // A view: half of the picture for a second.
    const watch = () => {
      clearTimeout(timer);
      if (!half || !unseen || page("hidden")) return;
      timer = setTimeout(() => {
        unseen = false;
        if (service.startsWith(location.origin + "/")) return;
        const view = `${service}api/track?e=view&p=${shown}&d=${location.hostname}`;
        fetch(view, plain({ mode: "no-cors" })).catch(() => {});
      }, 1000);
    };
    const sight = new IntersectionObserver((entries) => {
      half = entries.pop().intersectionRatio >= 0.5;
      watch();
    }, plain({ threshold: 0.5 }));

    const leave = () => {
      const focused = root.activeElement;
      const slot = element("slot", { tabIndex: -1 });
      root.replaceChildren(slot);
      if (focused) slot.focus();
      shown = drawn = "";
    };

    const show = async () => {
      if (asking) return;
      asking = true;
      try {
        words ??= await get("words.json").then(([all]) => all[lang])
          .catch(() => WORDS[lang = "es"]);
        const region = option("region") && "?region=" + encodeURIComponent(option("region"));
        let answer;
        let tries = 3;
        do answer = await get("api/persona-random" + region);
        while (answer[0].id === shown && --tries);
        if (!tries) throw shown;
        draw(answer);
        unseen = true;
      } catch (why) {
        if (shown && why === 404) leave();
        else if (shown) note.replaceChildren(...say("sorry"));
      }
      asking = false;
    };

    // Ten minutes without the service's word, and the child is gone.
    const check = async () => {
      if (!shown || asking || !place.isConnected || page("hidden")
        || Math.abs(Date.now() - answered) < 57e4) return;
      asking = true;
      try {
        draw(await get("api/personas/" + shown));
      } catch (why) {
        if (why === 404 || failed) leave();
        failed = true;
      }
      asking = false;
      if (!shown) show();
    };
    show();
  };

  const { pathname } = location;
  let own;
  const look = () => {
    const places = html.querySelectorAll("[data-persona404]");
    if (own && (places.length > 1 || location.pathname !== pathname)) own.remove();
    for (const place of places) {
      if (!place.persona404) start(place);
      place.persona404 = true;
    }
  };
  const begin = () => {
    if (!html.querySelector("[data-persona404]")) {
      own = element("aside");
      own.setAttribute("data-persona404", "");
      page("body").append(own);
    }
    look();
    new MutationObserver(look).observe(html, plain({ childList: true, subtree: true }));
  };
  if (page("readyState") !== "loading") begin();
  else addEventListener("DOMContentLoaded", begin);
})();
