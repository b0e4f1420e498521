// Small helpers for building the page. Text from the server only ever becomes text nodes, never markup.

export const $ = (selector, root = document) => root.querySelector(selector);

/* Makes an element. Properties are set as properties, or as attributes where there is a dash or no such property;
 * null and false children are left out. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value == null) continue;
    if (name in element && !name.includes('-')) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child != null && child !== false));
  return element;
}

/* Calls f once calls have stopped coming for that long. */
export function debounce(f, wait_ms) {
  let timer;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(f, wait_ms, ...args);
  };
}

export const count = (n) => n.toLocaleString('en');
export const plural = (n, one, many = one + 's') => `${count(n)} ${n === 1 ? one : many}`;

/* The direction of a text by its first letter, for what stands around it. */
export const directionOf = (text) => (/^\P{L}*[\p{sc=Arab}\p{sc=Hebr}\p{sc=Syrc}\p{sc=Thaa}\p{sc=Nkoo}]/u.test(text) ? 'rtl' : 'ltr');
export const wantsCalm = () => matchMedia('(prefers-reduced-motion: reduce)').matches;
