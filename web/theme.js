// Loaded before anything is drawn, so that a chosen theme does not flash in the other one first.
'use strict';
(() => {
  const root = document.documentElement;
  const system = matchMedia('(prefers-color-scheme: dark)');
  const isDark = () => (root.dataset.theme ? root.dataset.theme === 'dark' : system.matches);
  const tell = () => dispatchEvent(new Event('themechange'));
  let kept = null;
  try { kept = localStorage.getItem('calque-theme'); } catch { /* storage may be forbidden */ }
  if (kept) root.dataset.theme = kept;

  system.addEventListener('change', tell);
  document.addEventListener('DOMContentLoaded', () => {
    document.getElementById('theme').addEventListener('click', () => {
      const wanted = isDark() ? 'light' : 'dark';
      // Back at what the system says, the page follows the system again.
      const follow = (wanted === 'dark') === system.matches;
      if (follow) delete root.dataset.theme;
      else root.dataset.theme = wanted;
      try {
        if (follow) localStorage.removeItem('calque-theme');
        else localStorage.setItem('calque-theme', wanted);
      } catch { /* as above */ }
      tell();
    });
  });
})();
