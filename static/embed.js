// Shows a missing child in each <div data-persona404>, else at the end of the body.
(() => {
  const ABOUT = {};
  const WORDS = {
    lang: ["es", "pt", "en"],
    sought: ["Se busca", "Procura-se", "Missing"],
    demo: ["Ejemplo: esta persona no existe", "Exemplo: esta pessoa não existe",
      "Example: this person does not exist"],
    photo: ["Foto", "Foto", "Photo"],
    missing: ["Desapareció el | en |.", "Desapareceu no dia | em |.", "Went missing on | in |."],
    since: ["Falta desde el |. |", "Sem notícias desde |. |", "Missing since |. |"],
    age: [" Tenía |.", " Tinha |.", " Aged | at the time."],
    inform: ["Tengo información", "Tenho informações", "I have information"],
    call: ["o llama al |", "ou ligue para |", "or call |"],
    share: ["Compartir", "Compartilhar", "Share"],
    message: ["Se busca a una niña, un niño o adolescente. Si sabes algo, avisa:",
      "Procura-se uma criança ou adolescente. Se souber de algo, avise:",
      "A child is missing. If you know something, say so:"],
    another: ["Ver otra", "Ver outra", "Show another"],
    sorry: ["Ahora no podemos mostrar a nadie más.",
      "Agora não podemos mostrar mais ninguém.", "We cannot show anyone else now."],
    source: ["Fuente: |", "Fonte: |", "Source: |"],
    back: ["Volver al sitio", "Voltar ao site", "Back to the site"],
  };
  const STYLE = `
    :host { display: block !important; box-sizing: border-box !important; width: 100% }
    * { box-sizing: border-box; margin: 0 }
    slot, output { display: block }
    article {
      --ink: var(--persona404-ink, #1c1b1a); --paper: var(--persona404-paper, #fff);
      --radius: var(--persona404-radius, 14px);
      all: initial; direction: ltr; display: block; max-width: 40em; margin: 1.5em auto;
      font: medium/1.45 var(--persona404-font, system-ui, sans-serif);
      overflow: hidden; overflow-wrap: break-word; color: var(--ink); background: var(--paper);
      border: 1px solid #8888; border-radius: var(--radius); box-shadow: 0 12px 32px -12px #0004;
    }
    .dark { --ink: var(--persona404-ink, #f3f0ec); --paper: var(--persona404-paper, #1d1c1b) }
    header, footer, .body, .more, .small .act {
      display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 .75em;
    }
    header {
      padding: .5em 1.5em; font-size: .8em;
      color: #fff; background: var(--persona404-accent, #b3261e);
    }
    header b { text-transform: uppercase }
    .body { gap: 0 }
    .photo { flex: 5 1 13em; position: relative; overflow: hidden; background: #8883 }
    .photo::before { content: ""; float: left; padding-top: 108% }
    .none {
      background:
        radial-gradient(circle at 50% 42%, #aaa 20%, #0000 21%),
        radial-gradient(ellipse 42% 36% at 50% 100%, #aaa 99%, #0000), #ddd;
    }
    img { position: absolute; top: 0; width: 100%; height: 100%; object-fit: cover }
    .text { flex: 6 1 18em; min-width: 0; padding: 1.25em 1.25em .5em }
    h2 { margin-bottom: .35em; font-size: 1.7em; line-height: 1.12 }
    a, button {
      display: inline-flex; align-items: center; justify-content: center; gap: .3em;
      min-height: 44px; font: inherit; color: inherit;
    }
    .do, .more > * {
      flex: 1; padding: .5em; font-weight: bold; text-decoration: none;
      background: none; border: 1px solid #888; border-radius: var(--radius);
    }
    .do { margin-top: 1em; color: var(--paper); background: var(--ink) }
    .do, .call { display: flex }
    .more { gap: .5em; margin: .5em 0 }
    footer { font-size: .85em; opacity: .8 }
    :focus-visible { outline: 3px solid var(--ink); outline-offset: 2px }
    .small header { padding: .2em 1em }
    .small .body { display: block; font-size: .9em }
    .small .photo {
      float: left; width: 6em; margin: .6em 0 .6em .8em; border-radius: var(--radius);
    }
    .small .text { padding: 0 }
    .small .who { padding: .5em .8em 0; overflow: hidden }
    .small h2 { margin: 0; font-size: 1.2em }
    .small .act { padding: .3em .8em; min-width: min(17em, 100%) }
    .small .do { flex: 0 1 auto; margin: 0; padding: .5em 1em }
    .small .more, .small footer > a { display: none }`;

  // An <img name="body"> of the page hides document.body.
  const page = (name) => Reflect.get(Document.prototype, name, document);
  const html = page("documentElement");
  const script = page("currentScript");
  if (!/^http/.test(script?.src)) {
    console.error("persona404: load embed.js with <script src>, not as a module");
    return;
  }
  const service = new URL(".", script.src).href;

  // Answers go in as text and properties, never as markup.
  const element = (name, properties, ...children) => {
    const made = Object.assign(page("createElement").call(document, name), properties);
    made.append(...children.flat());
    return made;
  };

  const start = (place) => {
    const option = (name) => place.dataset[name] || script.dataset[name] || "";
    const tag = (option("lang") || html.lang).slice(0, 2).toLowerCase();
    const language = Math.max(0, WORDS.lang.indexOf(tag));
    const lang = WORDS.lang[language];
    const small = option("size") === "small";
    let root, card, heading, photo, note, shown, asking;

    // Words, with a value for each "|".
    const say = (key, ...values) =>
      WORDS[key][language].split("|").flatMap((part, n) => [part, values[n] ?? ""]);

    const link = (href, text, className = "") =>
      element("a", { href, className, rel: "noreferrer" }, text);

    const draft = ({ id, nombre, fecha, edad, lugar, foto, url }) => {
      const lines = [id, nombre, fecha, edad, lugar, foto, url].join("\n");
      if (!/^.+-\d+\n.+\n[\d/]+\n.+\n.*(\nhttps:.+){2}$/.test(lines)) throw lines;
      const { title, website, phone, demo, photos } = ABOUT;
      const { origin, host } = new URL(url);

      photo = element("div", { className: "photo" }, element("img", {
        alt: say("photo")[0],
        referrerPolicy: "no-referrer",
        loading: "lazy", // else it delays the page's load event
        onerror: ({ target }) => {
          target.parentNode.className += " none";
          target.remove();
        },
        src: photos ? `${service}foto/${id}?nombre=${encodeURIComponent(nombre)}` : foto,
      }));

      const [day, month, year] = fecha.split("/");
      const date = element("b", {},
        new Date(year, month - 1, day).toLocaleDateString(lang, { dateStyle: "long" }));
      const age = language ? parseInt(edad).toLocaleString(lang, {
        style: "unit", unit: /mes/.test(edad) ? "month" : "year", unitDisplay: "long",
      }) : edad;

      // No name: a message outlives the search.
      const text = (demo ? say("demo")[0] + ". " : "") + say("message")[0];
      const share = navigator.share
        ? element("button", { onclick: () => navigator.share({ text, url }).catch(() => {}) },
          say("share"))
        : link("https://wa.me/?text=" + encodeURIComponent(`${text} ${url}`), say("share"));

      heading = element("h2", { tabIndex: -1, translate: false }, nombre);
      note = element("output");
      card = element("article", { lang, className: small ? "small" : "" },
        element("header", {},
          element("b", {}, say("sought")), element("span", {}, demo ? say("demo") : [])),
        element("div", { className: "body" }, photo,
          element("div", { className: "text" },
            element("div", { className: "who" }, heading,
              element("p", {},
                small || !lugar
                  ? say("since", date, lugar && lugar + ".")
                  : say("missing", date, element("b", {}, lugar)),
                say("age", age))),
            element("div", { className: "act" },
              link(url, say("inform"), "do"),
              phone ? link("tel:" + phone.replace(/[^+\d]/g, ""),
                say("call", element("b", {}, phone)), "call") : [],
              element("div", { className: "more" },
                share, element("button", { onclick: show }, say("another"))),
              note,
              element("footer", {},
                element("p", {}, say("source", link(website || origin, title || host))),
                link(/^(\/(?![/\\])|https:)/.test(option("home")) ? option("home") : "/",
                  say("back")))))));
    };

    const attach = () => {
      let host = place;
      try {
        root = host.attachShadow({ mode: "open" });
      } catch { // a <ul> cannot have one: stand around it
        host = element("div");
        place.replaceWith(host);
        host.append(place);
        root = host.attachShadow({ mode: "open" });
      }
      try { // a page's policy may forbid style elements
        const sheet = new CSSStyleSheet();
        sheet.replaceSync(STYLE);
        root.adoptedStyleSheets = [sheet];
      } catch { // Safari before 16.4
        root.append(element("style", {}, STYLE));
      }
      root.append(element("slot"));
      matchMedia("(prefers-color-scheme: dark)").onchange = paint;
    };

    const paint = () => {
      // Light text means a dark page: rgb(255, 255, 255), oklch(1 0 0).
      const { color } = getComputedStyle(root.host);
      const [first, second] = color.match(/[\d.]+/g);
      const light = /^rgb/.test(color) ? second > 160 : first > 0.7;
      card.classList.toggle("dark", { dark: true, light: false }[option("theme")] ?? light);
    };

    const show = async () => {
      if (asking) return;
      asking = true;
      const limit = new AbortController();
      setTimeout(() => limit.abort(), 3000);
      try {
        const region = option("region");
        let person;
        let tries = 3;
        do {
          const answer = await fetch(service + "api/persona-random"
            + (region && "?region=" + encodeURIComponent(region)), { signal: limit.signal });
          person = await answer.json();
          if (!answer.ok) throw answer.status;
        } while (person.id === shown && --tries);
        if (!tries) throw shown;
        draft(person);
        if (!root) attach();
        paint();
        root.lastChild.replaceWith(card);
        if (shown) {
          heading.focus({ preventScroll: true });
          photo.scrollIntoView({ block: "nearest" });
        }
        shown = person.id;
        if (!service.includes(`//${location.host}/`)) { // the service itself is no site
          const view = `${service}api/track?e=view&p=${shown}&d=${location.hostname}`;
          fetch(view, { mode: "no-cors" }).catch(() => {});
        }
      } catch (why) {
        if (!shown) return;
        note.replaceChildren(...say("sorry"));
        if (why === 404) { // nobody is sought any more
          const slot = element("slot", { tabIndex: -1 });
          card.replaceWith(slot);
          slot.focus();
          shown = "";
        }
      }
      asking = false;
    };
    show();
  };

  const begin = () => {
    if (!html.querySelector("[data-persona404]")) {
      const aside = element("aside");
      aside.dataset.persona404 = "";
      page("body").append(aside);
    }
    for (const place of html.querySelectorAll("[data-persona404]")) {
      if (!place.persona404) start(place); // else another script has
      place.persona404 = true;
    }
  };
  if (page("readyState") !== "loading") begin();
  else page("addEventListener").call(document, "DOMContentLoaded", begin);
})();
