// The panel with a whole document, its passage marked and scrolled to.

import { fileLink, request } from './api.js';
import { curlLine, showCurl } from './curl.js';
import { $, directionOf, make, wantsCalm } from './dom.js';
import { languageTag } from './languages.js';
import { state, update, watch } from './state.js';

let list = () => [];
let hint = {}; // best sentence of the hit that is being opened: more than the address keeps
let running = null;
let info = null;
let onRemoved = () => {};

export function startDocument(serverInfo, hits, removed) {
  info = serverInfo;
  list = hits;
  onRemoved = removed;
  const dialog = $('#document');
  // The address changes first, and that closes the panel: "close" comes only later, perhaps after Back.
  const leave = () => update({ doc: '', at: '' }, { push: true });
  for (const kind of ['cancel', 'close']) dialog.addEventListener(kind, leave);
  // A click beside the panel lands on the dialog itself.
  dialog.addEventListener('click', (event) => { if (event.target === dialog) leave(); });
  $('#document-close').addEventListener('click', leave);
  $('#document-previous').addEventListener('click', () => step(-1));
  $('#document-next').addEventListener('click', () => step(1));
  dialog.addEventListener('keydown', (event) => {
    const by = { j: 1, k: -1 }[event.key];
    if (by && !event.ctrlKey && !event.metaKey && !event.altKey) step(by);
  });
  watch((changed) => { if (changed.has('doc') || changed.has('at')) show(); });
}

export function openHit(hit) {
  hint = { id: hit.id, best: hit.snippet?.best };
  update({ doc: hit.id, at: hit.passage ? `${hit.passage.begin}-${hit.passage.end}` : '' }, { push: true });
}

/* A point of the map knows the beginning of its passage only. */
export function openPoint(point) {
  hint = { id: point.id, best: point.label };
  update({ doc: point.id, at: '' }, { push: true });
}

const place = () => list().findIndex((hit) => hit.id === state.doc &&
  (!state.at || !hit.passage || state.at === `${hit.passage.begin}-${hit.passage.end}`));

function step(by) {
  const next = list()[place() + by];
  if (place() >= 0 && next) openHit(next);
}

export async function show() {
  running?.abort();
  const dialog = $('#document');
  if (!state.doc) {
    if (dialog.open) dialog.close();
    return;
  }
  const mine = running = new AbortController();
  const at = place(), n = list().length;
  $('#document-previous').hidden = $('#document-next').hidden = at < 0;
  $('#document-previous').disabled = at <= 0;
  $('#document-next').disabled = at === n - 1;
  $('#document-place').textContent = at < 0 ? '' : `Hit ${at + 1} of ${n}`;
  const id = state.doc;
  const path = 'api/documents/' + encodeURIComponent(id);
  try {
    const document = await request(path, { signal: mine.signal });
    if (mine !== running) return;
    fill(document, path);
  } catch (error) {
    if (mine !== running || error.name === 'AbortError') return;
    $('#document-body').replaceChildren(make('h2', { id: 'document-title' }, error.status === 404 ? 'No such document' : 'No document'),
      make('p', {}, error.message));
  }
  if (!dialog.open) dialog.showModal();
  $('#document-body').focus({ preventScroll: true });
  const mark = $('#document-body .passage, #document-body mark');
  if (mark) mark.scrollIntoView({ block: 'center', behavior: wantsCalm() ? 'auto' : 'smooth' });
  else $('#document-body').scrollTop = 0;
}

/* Offsets of the server count bytes of UTF-8, those of JavaScript units of UTF-16. Answers where the characters begin
 * that hold the given bytes; what lies past the end is the end. */
function unitsOfBytes(text, ...offsets) {
  const found = offsets.map(() => text.length);
  let bytes = 0, units = 0;
  for (const character of text) {
    const code = character.codePointAt(0);
    const size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    offsets.forEach((offset, i) => { if (bytes <= offset && offset < bytes + size) found[i] = units; });
    bytes += size;
    units += character.length;
  }
  return found;
}

function marked(text) {
  const best = hint.id === state.doc ? hint.best?.replace(/…$/, '').trim() : '';
  let [begin, end] = state.at ? unitsOfBytes(text, ...state.at.split('-').map(Number)) : [0, 0];
  if (end <= begin) [begin, end] = [0, 0];
  let from = best ? text.indexOf(best, begin) : -1;
  if (from < 0 || (end && from >= end)) from = end ? -1 : (best ? text.indexOf(best) : -1);
  if (from < 0 && end <= begin) return [text];
  if (from < 0) return [text.slice(0, begin), make('span', { className: 'passage' }, text.slice(begin, end)), text.slice(end)];
  const to = from + best.length;
  if (!end) return [text.slice(0, from), make('mark', {}, best), text.slice(to)];
  return [text.slice(0, begin),
    make('span', { className: 'passage' }, text.slice(begin, from), make('mark', {}, best), text.slice(to, Math.max(to, end))),
    text.slice(Math.max(to, end))];
}

function fill(found, path) {
  const safe = /^https?:\/\//i.test(found.url ?? '');
  // All other fields are metadata.
  const { id, title, text, url, language, ...metadata } = found;
  const shown = url || (title ? id : ''); // without a title, the ID stands for it
  const curl = make('div', { className: 'curl' });
  showCurl(curl, curlLine(path));
  $('#document-body').replaceChildren(
    make('div', { dir: directionOf(title || text) },
      make('h2', { id: 'document-title', lang: language ?? '' }, make('bdi', {}, title || id)),
      make('p', { className: 'where' }, languageTag(language),
        // Only addresses of the web become links: others could run something.
        safe ? make('a', { href: url, rel: 'noreferrer noopener', target: '_blank' }, url) : make('bdi', {}, shown), ' ', fileLink(id, 'Open the file')),
      make('dl', {}, Object.entries(metadata).map(([name, value]) =>
        make('div', {}, make('dt', {}, name), make('dd', { dir: 'auto' }, typeof value === 'string' ? value : JSON.stringify(value)))))),
    make('div', { className: 'text', dir: 'auto', lang: language ?? '' }, marked(text)),
    ...(info.writable ? [remover(id, path)] : []),
    curl);
}

/* Asks once more on the button itself: there is no way back. */
function remover(id, path) {
  const button = make('button', { type: 'button', className: 'quiet remove' }, 'Remove from the index');
  button.addEventListener('click', async () => {
    if (!button.dataset.sure) {
      button.dataset.sure = 'yes';
      button.textContent = 'Remove it for good?';
      return;
    }
    try {
      await request(path, { method: 'DELETE' });
      $('#document').close();
      onRemoved(id);
    } catch (error) { button.textContent = error.message; }
  });
  return button;
}
