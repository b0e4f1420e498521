// The request behind what is on screen, as a line for a shell.

import { base, hasKey } from './api.js';
import { make } from './dom.js';

const quote = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

export function curlLine(path, { method, json, file } = {}) {
  const words = ['curl'];
  if (method) words.push('-X', method);
  // The key itself stays out of what may be pasted elsewhere.
  if (hasKey()) words.push('-H', '"Authorization: Bearer $CALQUE_KEY"');
  if (json !== undefined) words.push('--json', quote(JSON.stringify(json)));
  if (file) words.push('--data-binary', quote('@' + file));
  words.push(quote(base + path));
  return words.join(' ');
}

export function showCurl(place, line) {
  if (place.firstChild?.textContent === line) return;
  const code = make('code', { tabIndex: 0, dir: 'ltr' }, line);
  code.setAttribute('aria-label', 'The same with curl');
  const button = make('button', { type: 'button', className: 'quiet' }, 'Copy');
  button.addEventListener('click', async () => {
    const done = await copy(line, code);
    button.textContent = done ? 'Copied' : 'Press Ctrl+C';
    setTimeout(() => { button.textContent = 'Copy'; }, 1600);
  });
  place.replaceChildren(code, button);
}

/* The clipboard is there on https and on this machine only; elsewhere the line is selected, ready for Ctrl+C. */
async function copy(text, element) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection().selectAllChildren(element);
    return document.execCommand('copy');
  }
}
