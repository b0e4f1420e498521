// Names and colors of languages. A language has the same color in the list, on the map and in the documents.

import { make, count } from './dom.js';

// Neighbors in this order are far apart in hue, so that the largest languages are told apart best.
const HUES = [262, 35, 152, 325, 88, 205, 5, 128, 292, 60, 178, 235];
const order = new Map();
const names = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'code' });

export function setLanguages(counts) {
  order.clear();
  Object.entries(counts).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    .forEach(([code], i) => order.set(code, i));
}

export function languageName(code) {
  if (!code || code === 'und') return 'Unknown language';
  try { return names.of(code); } catch { return code; }
}

function ownName(code) {
  try { return new Intl.DisplayNames([code], { type: 'language' }).of(code); } catch { return languageName(code); }
}

export function hueOf(code) {
  if (!order.has(code)) order.set(code, order.size);
  const i = order.get(code);
  return HUES[i % HUES.length] + 13 * Math.floor(i / HUES.length);
}

export function tint(element, code) {
  element.style.setProperty('--hue', hueOf(code));
  element.classList.add('tinted');
  return element;
}

export function languageTag(code) {
  return tint(make('span', { className: 'language', title: ownName(code) }, languageName(code)), code);
}

export function languageChip(code, n, pressed, onClick) {
  const chip = make('button', { type: 'button', className: 'chip', title: ownName(code), 'aria-pressed': String(pressed) },
    languageName(code), make('small', {}, count(n)));
  chip.addEventListener('click', onClick);
  return tint(chip, code);
}
