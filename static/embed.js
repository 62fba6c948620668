// Shows a missing child on any page: <script src="https://HOST/embed.js" defer></script>
// It fills <div data-persona404>, or appends to the body. Optional on the script:
// data-region="Salta" prefers that region, data-home="/" is where "Volver al sitio" leads.
(() => {
  // A tag manager adds scripts later: then there is no current one.
  const script = document.currentScript ?? document.querySelector('script[src*="/embed.js"]');
  const { region, home = "/" } = script.dataset;

  const api = (path, query) => {
    const url = new URL("api/" + path, script.src);
    url.search = new URLSearchParams(query);
    return url.href;
  };

  // What comes from the API goes in as text and attributes only, never as markup.
  const element = (name, attributes, ...children) => {
    const made = document.createElement(name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    made.append(...children);
    return made;
  };

  const draw = async (signal) => {
    const answer = await fetch(api("persona-random", region ? { region } : {}), { signal });
    const person = await answer.json();
    if (!answer.ok) throw new Error(answer.status);
    for (const field of ["id", "nombre", "fecha", "edad", "lugar", "foto", "url"]) {
      if (typeof person[field] !== "string") throw new TypeError(field);
    }
    for (const address of [person.foto, person.url]) {
      if (new URL(address).protocol !== "https:") throw new TypeError(address);
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
      element("p", {}, `${edad}. ${lugar}.`),
      element("p", {}, `Se busca desde el ${fecha}.`),
      element("a", { href: url }, "Ver la ficha oficial"),
    ];
  };

  const status = element("div", { role: "status" }, "Cargando…");
  const another = element("button", { type: "button", hidden: "" }, "Ver otra");
  const back = element("a", { href: home }, "Volver al sitio");
  let shown = {};
  let asking = false;

  const show = async () => {
    if (asking) return;
    asking = true;
    try {
      const limit = new AbortController();
      const timer = setTimeout(() => limit.abort(), 3000);
      let person = await draw(limit.signal);
      for (let again = 0; again < 2 && person.id === shown.id; again++) {
        person = await draw(limit.signal);
      }
      clearTimeout(timer);
      if (person.id !== shown.id) {
        status.replaceChildren(...card(person));
        new Image().src = api("track", { e: "view", p: person.id, d: location.hostname });
      }
      shown = person;
      another.hidden = false;
    } catch {
      status.replaceChildren("Ahora mismo no podemos mostrar a nadie.");
      if (!another.hidden) back.focus();
      another.hidden = true;
    }
    asking = false;
  };

  another.onclick = show;

  // Light or dark as the page around it is (color-scheme). Nothing moves.
  const css = `
    :host { all: initial; color-scheme: inherit; display: block }
    section {
      box-sizing: border-box; max-width: 22em; margin: 1em auto; padding: 1em;
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

  let host = document.querySelector("[data-persona404]");
  if (host?.shadowRoot) return;
  if (!host) document.body.append((host = element("div", { "data-persona404": "" })));
  const root = host.attachShadow({ mode: "open" });
  root.append(element("section", { lang: "es", "aria-label": "Se busca" }, status, another, back));
  if (root.adoptedStyleSheets) {
    // A page's Content-Security-Policy may forbid style elements.
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    root.adoptedStyleSheets = [sheet];
  } else root.append(element("style", {}, css)); // Safari before 16.4
  show();
})();
