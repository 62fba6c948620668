// Shows a missing child on any page: <script src="https://HOST/embed.js" async></script>
// It fills <div data-persona404>, or appends to the body. data-region="Salta" prefers that
// region, data-home="/" is where "Volver al sitio" leads.
(() => {
  const { src, dataset } = document.currentScript;

  const api = (path, query) => {
    const url = new URL("api/" + path, src);
    url.search = new URLSearchParams(query);
    return url.href;
  };

  // What comes from the API goes in as text and attributes, never as markup.
  const element = (name, attributes, ...children) => {
    const made = document.createElement(name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    made.append(...children);
    return made;
  };

  const draw = async (signal) => {
    const query = dataset.region ? { region: dataset.region } : {};
    const answer = await fetch(api("persona-random", query), { signal });
    const person = await answer.json();
    if (!answer.ok) throw answer.status;
    for (const field of ["id", "nombre", "fecha", "edad", "lugar", "foto", "url"]) {
      if (typeof person[field] !== "string") throw field;
    }
    for (const address of [person.foto, person.url]) {
      if (new URL(address).protocol !== "https:") throw address;
    }
    return person;
  };

  const card = ({ nombre, fecha, edad, lugar, foto, url }) => {
    const photo = element("img", {
      class: "photo", alt: "Foto de " + nombre, referrerpolicy: "no-referrer", src: foto,
    });
    photo.onerror = () => photo.replaceWith(element("div", {
      class: "photo", role: "img", "aria-label": "Sin foto de " + nombre,
    }));
    return [
      element("p", {}, "Ayuda a encontrar a"),
      photo,
      element("p", { class: "name" }, nombre),
      element("p", {}, `${lugar}. Fecha del caso: ${fecha}. Edad: ${edad}.`),
      element("a", { href: url, rel: "noreferrer" }, "Ver la ficha oficial"),
    ];
  };

  const place = element("div", { role: "status" });
  const note = element("p", { role: "status" }, "Cargando…");
  const another = element("button", { hidden: "" }, "Ver otra");
  const back = element("a", { href: dataset.home || "/" }, "Volver al sitio");
  let shown = {};
  let asking = false;

  const show = async () => {
    if (asking) return;
    asking = true;
    const limit = new AbortController();
    setTimeout(() => limit.abort(), 3000);
    try {
      let person = shown;
      for (let tries = 0; tries < 3 && person.id === shown.id; tries++) {
        person = await draw(limit.signal);
      }
      note.textContent = "";
      if (person.id === shown.id) throw person.id;
      place.replaceChildren(...card(person));
      another.hidden = false;
      shown = person;
      new Image().src = api("track", { e: "view", p: person.id, d: location.hostname });
    } catch (why) {
      if (why === 404 && shown.id) { // nobody is sought any more
        place.replaceChildren();
        back.focus();
        another.hidden = true;
        shown = {};
      }
      note.textContent = "Ahora mismo no podemos mostrar a nadie" + (shown.id ? " más." : ".");
    }
    asking = false;
  };

  another.onclick = show;

  // Light or dark as the page is.
  const css = `
    :host { all: initial; color-scheme: inherit; display: block }
    section {
      max-width: 22em; margin: 1em auto; padding: 1em;
      font: medium/1.5 system-ui, sans-serif; text-align: center; overflow-wrap: anywhere;
      color: CanvasText; background: Canvas; border: 1px solid #767676; border-radius: .5em;
    }
    p { margin: .25em 0 }
    .name { font-size: 1.4em; font-weight: bold }
    .photo {
      display: block; width: 12em; height: 15em; margin: .75em auto; object-fit: cover;
      background: radial-gradient(ellipse 24% 20% at 50% 40%, #777 98%, #0000),
        radial-gradient(ellipse 42% 36% at 50% 102%, #777 98%, #0000), #ccc;
    }
    a, button { display: inline-block; min-width: 44px; padding: 10px; font: inherit; color: LinkText }
    button { border: 1px solid; border-radius: .25em; background: none; cursor: pointer }
    [hidden] { display: none }
    :focus-visible { outline: 3px solid; outline-offset: 2px }`;

  const start = () => {
    let host = document.querySelector("[data-persona404]");
    if (host?.shadowRoot) return;
    if (!host) document.body.append((host = element("div", { "data-persona404": "" })));
    const root = host.attachShadow({ mode: "open" });
    const names = { lang: "es", dir: "ltr", "aria-label": "Se busca" };
    root.append(element("section", names, place, note, another, back));
    try { // a page's Content-Security-Policy may forbid style elements
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(css);
      root.adoptedStyleSheets = [sheet];
    } catch { // Safari before 16.4
      root.append(element("style", {}, css));
    }
    show();
  };
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
})();
