// Adding documents: files, chosen or dropped anywhere on the page, and a text written here.

import { authorization, askForKey, base, errorOf, request } from './api.js';
import { curlLine, showCurl } from './curl.js';
import { $, make, plural } from './dom.js';
import { update } from './state.js';

let info = null;
let onAdded = () => {};
let queue = Promise.resolve();

export function startUpload(serverInfo, added) {
  info = serverInfo;
  onAdded = added;
  $('#files').addEventListener('change', (event) => {
    enqueue(event.target.files);
    event.target.value = ''; // the same file may be chosen again
  });
  startDrop();
  $('#note').addEventListener('submit', (event) => { event.preventDefault(); addNote(); });
  showCurl($('#add-curl'), curlLine('api/documents?name=notes.md', { file: 'notes.md' }));
}

function startDrop() {
  const overlay = $('#drop-here');
  const hasFiles = (event) => info.writable && event.dataTransfer?.types.includes('Files');
  let timer;
  const hide = () => { clearTimeout(timer); overlay.hidden = true; };
  // Browsers differ in how a drag leaves the page, but while it is over it they all say so a few times a second.
  const over = (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    hide();
    overlay.hidden = false;
    timer = setTimeout(hide, 700);
  };
  addEventListener('dragenter', over);
  addEventListener('dragover', over);
  addEventListener('drop', (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    hide();
    update({ view: 'add' }, { push: true });
    enqueue(event.dataTransfer.files);
  });
}

/* One after the other: the server writes one batch at a time anyway, and the order stays that of the list. */
function enqueue(files) {
  for (const file of files) {
    const bar = make('progress', { max: 1, value: 0, 'aria-label': file.name });
    const word = make('span', { className: 'quiet-text' }, 'waiting');
    const row = make('li', {}, make('bdi', {}, file.name), bar, word);
    $('#uploads').prepend(row);
    queue = queue.then(() => upload(file, row, bar, word));
  }
}

async function upload(file, row, bar, word) {
  const path = 'api/documents?name=' + encodeURIComponent(file.name);
  showCurl($('#add-curl'), curlLine(path, { file: file.name }));
  try {
    for (let refused = false; ; refused = true) {
      const { status, body } = await send(base + path, file, (share) => {
        bar.value = share;
        word.textContent = `${Math.round(100 * share)} %`;
        if (share === 1) {
          bar.removeAttribute('value'); // how long indexing takes is not known
          word.textContent = 'indexing';
        }
      });
      if (status === 401 && (await askForKey(refused))) continue;
      if (status < 200 || status > 299) throw errorOf(status, body);
      word.textContent = resultOf(JSON.parse(body));
      break;
    }
    bar.value = 1;
    row.classList.add('done');
    onAdded();
  } catch (error) {
    bar.remove();
    // The name stands beside it.
    word.textContent = error.message.startsWith(file.name + ':') ? 'line ' + error.message.slice(file.name.length + 1) : error.message;
    word.className = 'error';
  }
}

const resultOf = ({ added, replaced, passages }) =>
  [`${plural(added, 'document')} added`, replaced && `${replaced} replaced`, plural(passages, 'passage')].filter(Boolean).join(', ');

/* XMLHttpRequest, because fetch does not say how much has been sent. */
function send(address, file, onProgress) {
  return new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest();
    xhr.open('POST', address);
    for (const [name, value] of Object.entries(authorization())) xhr.setRequestHeader(name, value);
    xhr.setRequestHeader('Content-Type', 'application/octet-stream'); // the ending of the name tells the format
    xhr.upload.onprogress = (event) => { if (event.lengthComputable && event.total) onProgress(event.loaded / event.total); };
    xhr.upload.onload = () => onProgress(1);
    xhr.onload = () => resolve({ status: xhr.status, body: xhr.responseText });
    xhr.onerror = () => reject(new Error('The connection broke off.'));
    xhr.send(file);
  });
}

async function addNote() {
  const title = $('#note-title').value.trim(), text = $('#note-text').value.trim();
  const status = $('#note-status');
  if (!text) return;
  // An ID of one's own: the title, or else the time.
  const id = (title || 'note ' + new Date().toISOString().slice(0, 19)).replaceAll(/[\s/]+/g, '-');
  const path = 'api/documents/' + encodeURIComponent(id), json = { title, text };
  showCurl($('#add-curl'), curlLine(path, { method: 'PUT', json }));
  status.textContent = 'Indexing';
  try {
    status.textContent = resultOf({ replaced: 0, ...(await request(path, { method: 'PUT', json })) }) + '.';
    $('#note').reset();
    onAdded();
  } catch (error) { status.textContent = error.message; }
}
