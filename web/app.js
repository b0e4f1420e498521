// Starts the page: asks the server what it has, then wires search, map, comparison, documents and uploads together.

import { request } from './api.js';
import { openHit, openPoint, show as showDocument, startDocument } from './document.js';
import { $, make, plural } from './dom.js';
import { languageTag, setLanguages } from './languages.js';
import { chooseLanguages, pointAt, reloadMap, showHits, showMap, startMap } from './map-view.js';
import { compare, startMatrix } from './matrix.js';
import { hits, search, startSearch } from './search.js';
import { readAddress, state, tell, update, watch } from './state.js';
import { startUpload } from './upload.js';

const info = { index: null, writable: false };
let compared = false;

async function readInfo() {
  Object.assign(info, await request('api/info'));
  setLanguages(info.index?.languages ?? {});
  const index = info.index;
  $('#about').replaceChildren(
    index ? `${plural(index.documents, 'document')}, ${plural(index.passages, 'passage')}. ` : 'No index. ',
    `Model ${info.model}, ${info.dim} dimensions. calque ${info.version}.`);
  document.body.classList.toggle('no-index', !index);
  $('nav [data-view=map]').hidden = !index;
  $('nav [data-view=add]').hidden = !info.writable;
}

function showView() {
  const known = ['search', 'map', 'compare', 'add'];
  let view = known.includes(state.view) ? state.view : 'search';
  if (view === 'add' && !info.writable) view = 'search';
  document.body.dataset.view = view;
  for (const link of document.querySelectorAll('nav a'))
    link.setAttribute('aria-current', link.dataset.view === view ? 'page' : 'false');
  document.title = state.q && view !== 'compare' && view !== 'add' ? `${state.q} · calque` : 'calque';
  if (view === 'compare' && !compared) {
    compared = true;
    compare();
  }
  showMap();
}

function showWelcome() {
  const place = $('#welcome');
  if (!info.index) {
    place.replaceChildren(make('h1', {}, 'No index here yet'),
      make('p', {}, 'This server has a model and no documents. Sentences can be compared already; to search, start ' +
        'the server with a folder of documents, or with an index:'),
      make('pre', { tabIndex: 0, dir: 'ltr' }, 'calque serve FOLDER'),
      make('p', {}, make('a', { href: '?view=compare', className: 'button' }, 'Compare sentences')));
  } else if (!info.index.documents) {
    place.replaceChildren(make('h1', {}, 'The index is empty'),
      make('p', {}, info.writable ? 'Drop a file anywhere on this page, and search it.' : 'Nothing has been added to it so far.'),
      info.writable ? make('p', {}, make('a', { href: '?view=add', className: 'button' }, 'Add documents')) : '');
  } else {
    place.replaceChildren(make('h1', {}, 'Say it in your language, find it in any.'),
      make('p', {}, `Whole sentences work best. ${plural(Object.keys(info.index.languages).length, 'language')} to search in.`),
      make('ul', { id: 'suggestions' }));
    suggest();
  }
  place.hidden = state.q !== '' && Boolean(info.index);
}

/* Sentences of the index to begin with, a few languages of them. */
async function suggest() {
  try {
    const { points } = await request('api/map?n=300');
    const chosen = new Map();
    for (const { language, label = '' } of points)
      if (label.length > 9 && label.length < 100 && !chosen.has(language)) chosen.set(language, label);
    $('#suggestions')?.replaceChildren(...[...chosen].slice(0, 6).map(([language, label]) => {
      const button = make('button', { type: 'button', dir: 'auto', lang: language }, label);
      button.addEventListener('click', () => update({ q: label }, { push: true }));
      return make('li', {}, languageTag(language), button);
    }));
  } catch { /* no suggestions then */ }
}

async function refresh() {
  await readInfo();
  showWelcome();
  tell(['lang']);
  reloadMap(info);
}

function wire() {
  // Links between views keep the search.
  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[href^="?view="], a.brand');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (link.classList.contains('brand')) update({ view: 'search', q: '', lang: '', filter: '', mode: 'hybrid' }, { push: true });
    else update({ view: new URL(link.href).searchParams.get('view') }, { push: true });
    scrollTo({ top: 0 });
  });
  startMap(info, (point, hit) => (hit ? openHit(hit) : openPoint(point)));
  startDocument(info, hits, refresh);
  startMatrix();
  startUpload(info, refresh);
  startSearch(info, { onHits: showHits, onOpen: openHit, onPoint: pointAt });
  watch((changed) => {
    showView();
    if (changed.has('lang')) chooseLanguages();
  });
  addEventListener('resize', showMap);
}

readAddress();
try {
  await readInfo();
  wire();
  showWelcome();
  showView();
  await search();
  if (state.doc) showDocument();
  if (!matchMedia('(pointer: coarse)').matches && !state.doc && document.body.dataset.view === 'search') $('#q').focus();
} catch (error) {
  $('#trouble').textContent = error.message;
  $('#trouble').append(' ', make('a', { href: location.href }, 'Try again'));
  $('#trouble').hidden = false;
}
