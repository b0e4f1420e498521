// What is on screen, kept in the address, so that a search can be shared and the back button works.

const DEFAULTS = { view: 'search', q: '', mode: 'hybrid', lang: '', filter: '', doc: '', at: '' };

export const state = { ...DEFAULTS };
const watchers = [];

export function readAddress() {
  const query = new URLSearchParams(location.search);
  for (const name in DEFAULTS) state[name] = query.get(name) ?? DEFAULTS[name];
}

export function addressOf(changes = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...state, ...changes }))
    if (value !== DEFAULTS[name]) query.set(name, value);
  const text = query.toString();
  return text ? '?' + text : './';
}

export function watch(watcher) { watchers.push(watcher); }

/* Changes the state; typing replaces the entry in the history, going somewhere adds one. */
export function update(changes, { push = false } = {}) {
  const before = { ...state };
  Object.assign(state, changes);
  const changed = Object.keys(DEFAULTS).filter((name) => state[name] !== before[name]);
  if (changed.length === 0) return;
  history[push ? 'pushState' : 'replaceState'](null, '', addressOf());
  tell(changed);
}

export function tell(changed = Object.keys(DEFAULTS)) { for (const watcher of watchers) watcher(new Set(changed)); }

addEventListener('popstate', () => { readAddress(); tell(); });

// What an address brings along goes into a filter: nothing but codes.
export const languages = () => state.lang.split(',').filter((code) => /^[\w-]+$/.test(code));

/* The filter of a request: the languages chosen and what was typed, as one expression. */
export function wholeFilter() {
  const chosen = languages();
  const typed = state.filter.trim();
  const parts = [];
  if (chosen.length) parts.push(`lang in [${chosen.join(', ')}]`);
  if (typed) parts.push(chosen.length && /\bor\b/i.test(typed) ? `(${typed})` : typed);
  return parts.join(' and ');
}
