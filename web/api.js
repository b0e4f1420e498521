// Requests to the server: JSON in and out, one kind of error, and the key where the server wants one.

import { $, make } from './dom.js';

export class ApiError extends Error {
  constructor(status, type, message) {
    super(message);
    this.status = status;
    this.type = type;
  }
}

// Addresses are relative, so that the page also works behind a prefix of a proxy.
export const base = new URL('.', document.baseURI).href;

const KEY = 'calque-key';
let key = null;
try { key = sessionStorage.getItem(KEY); } catch { /* storage may be forbidden; the key then lasts as long as the page */ }

export const hasKey = () => key !== null;
export const authorization = () => (key === null ? {} : { Authorization: `Bearer ${key}` });

export function errorOf(status, body) {
  let type = 'internal', message = `The server answered with status ${status}.`;
  try {
    const { error, error_type } = JSON.parse(body);
    message = error?.message ?? error ?? message;
    type = error_type ?? error?.type ?? type;
  } catch { /* not ours: a proxy's page, say */ }
  return new ApiError(status, type, message);
}

const pause = (ms, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, ms);
  signal?.addEventListener('abort', () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
});

/* Answers the parsed JSON. Throws ApiError, or AbortError where the signal said so. A server that has too much to do
 * is asked again, as often as it says when. */
export async function request(path, { method, json, signal } = {}) {
  for (let refused = false, waits = 0; ;) {
    let response, body;
    const sent = key;
    try {
      response = await fetch(base + path, {
        method: method ?? (json === undefined ? 'GET' : 'POST'),
        headers: { ...authorization(), ...(json === undefined ? {} : { 'Content-Type': 'application/json' }) },
        body: json === undefined ? undefined : JSON.stringify(json),
        signal,
      });
      body = await response.text();
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      throw new ApiError(0, 'unreachable', 'The server does not answer. Is it still running?');
    }
    if (response.status === 401) {
      // Another request may have been given a key meanwhile; then that one is tried first.
      if (key !== sent || (await askForKey(refused || sent !== null))) {
        refused = true;
        continue;
      }
    }
    const wait_s = Number(response.headers.get('Retry-After'));
    if ((response.status === 429 || response.status === 503) && wait_s > 0 && wait_s <= 10 && waits++ < 3) {
      await pause(wait_s * 1000, signal);
      continue;
    }
    if (!response.ok) throw errorOf(response.status, body);
    return JSON.parse(body);
  }
}

const SHOWN = /^(text\/plain|application\/pdf)\b/;

/* A link to a document's file. With a key the browser itself may not fetch it: then it is fetched here, and shown or
 * saved as the server says. */
export function fileLink(id, text) {
  const path = base + 'api/files/' + encodeURIComponent(id);
  const link = make('a', { href: path, className: 'file', target: '_blank', rel: 'noreferrer noopener' }, text);
  link.addEventListener('click', async (event) => {
    if (key === null) return;
    event.preventDefault();
    const response = await fetch(path, { headers: authorization() });
    if (!response.ok) return;
    const blob = await response.blob();
    const opened = make('a', { href: URL.createObjectURL(blob), target: '_blank', rel: 'noopener' });
    if (!SHOWN.test(blob.type)) opened.download = id.split('/').pop();
    opened.click();
    setTimeout(() => URL.revokeObjectURL(opened.href), 60000);
  });
  return link;
}

let asking = null;

/* Asks once, however many requests wait for the answer. */
export function askForKey(refused) {
  asking ??= new Promise((resolve) => {
    const dialog = $('#key');
    const input = $('#key-input');
    let given = null;
    $('#key-error').hidden = !refused;
    input.value = '';
    dialog.querySelector('form').onsubmit = () => { given = input.value.trim(); };
    $('#key-cancel').onclick = () => dialog.close();
    dialog.addEventListener('close', () => {
      asking = null;
      if (given) {
        key = given;
        try { sessionStorage.setItem(KEY, key); } catch { /* as above */ }
      }
      resolve(Boolean(given));
    }, { once: true });
    dialog.showModal();
  });
  return asking;
}
