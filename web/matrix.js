// Two boxes of sentences and the similarity of each pair as a heat table.

import { request } from './api.js';
import { curlLine, showCurl } from './curl.js';
import { $, debounce, make, plural } from './dom.js';

const MAX_LINES = 40;
const EXAMPLES = {
  'Same meaning': [
    ['The lake is frozen, so we can walk across.', 'Who left the window open?', 'Our neighbor grows tomatoes on the roof.'],
    ['Der See ist zugefroren, wir können hinübergehen.', 'من ترك النافذة مفتوحة؟', 'हमारा पड़ोसी छत पर टमाटर उगाता है।', 'Le train part dans dix minutes.'],
  ],
  'Loan translations': [
    ['A skyscraper is being built by the harbour.', 'They spent their honeymoon in the mountains.', 'The flea market opens at sunrise.'],
    ['Am Hafen wird ein Wolkenkratzer gebaut.', 'Ils ont passé leur lune de miel à la montagne.', '蚤の市は日の出とともに始まる。', 'يُبنى ناطح سحاب قرب الميناء.'],
  ],
  'Small differences': [
    ['She gave him the book.', 'He gave her the book.', 'She did not give him the book.'],
    ['Sie gab ihm das Buch.', 'Il lui a donné le livre, à elle.', 'Ella no le dio el libro.', 'She lent him a novel.'],
  ],
};

let running = null;
const linesOf = (box) => box.value.split('\n').map((line) => line.trim()).filter(Boolean);

export function startMatrix() {
  const boxes = [$('#box-a'), $('#box-b')];
  for (const [name, texts] of Object.entries(EXAMPLES)) {
    const button = make('button', { type: 'button', className: 'chip' }, name);
    button.addEventListener('click', () => { set(texts); compare(); });
    $('#examples').append(button);
  }
  const set = (texts) => boxes.forEach((box, i) => { box.value = texts[i].join('\n'); });
  set(Object.values(EXAMPLES)[0]);
  const later = debounce(compare, 300);
  for (const box of boxes) box.addEventListener('input', (event) => { if (!event.isComposing) later(); });
}

export async function compare() {
  running?.abort();
  const mine = running = new AbortController();
  const a = linesOf($('#box-a')), b = linesOf($('#box-b'));
  const status = $('#matrix-status');
  $('#matrix-curl').hidden = !a.length || !b.length;
  if (!a.length || !b.length) {
    $('#matrix').replaceChildren();
    status.textContent = 'Write a sentence in each box.';
    return;
  }
  const tooMany = Math.max(a.length, b.length) > MAX_LINES;
  a.length = Math.min(a.length, MAX_LINES);
  b.length = Math.min(b.length, MAX_LINES);
  showCurl($('#matrix-curl'), curlLine('api/similarity', { json: { a, b } }));
  try {
    const { similarity, truncated } = await request('api/similarity', { json: { a, b }, signal: mine.signal });
    if (mine !== running) return;
    $('#matrix').replaceChildren(table(a, b, similarity));
    status.textContent = [`${plural(a.length * b.length, 'pair')}. The best of each row has a frame.`,
      tooMany && `Of each box the first ${MAX_LINES} lines are compared.`,
      truncated && `${plural(truncated, 'sentence')} longer than the model reads ${truncated === 1 ? 'was' : 'were'} truncated.`]
      .filter(Boolean).join(' ');
  } catch (error) {
    if (mine !== running || error.name === 'AbortError') return;
    $('#matrix').replaceChildren();
    status.textContent = error.message;
  }
}

function table(a, b, similarity) {
  const text = (line) => make('span', { dir: 'auto', title: line }, line);
  const head = make('tr', {}, make('td'), b.map((line) => make('th', { scope: 'col' }, text(line))));
  const rows = a.map((line, i) => {
    const best = similarity[i].indexOf(Math.max(...similarity[i]));
    return make('tr', {}, make('th', { scope: 'row' }, text(line)), similarity[i].map((value, j) => {
      const cell = make('td', { className: j === best ? 'best' : '' }, value.toFixed(2).replace('-', '−'),
        j === best && make('span', { className: 'unseen' }, ', best of the row'));
      cell.style.setProperty('--share', Math.max(0, value));
      return cell;
    }));
  });
  return make('table', {}, make('thead', {}, head), make('tbody', {}, rows));
}
