// Keeps the page's files, so that the viewer works without its server. The server comes first, so that a new version
// shows at once; the files kept are used when it cannot be reached.

declare const self: ServiceWorkerGlobalScope;
/** Set by web/build. */
declare const FILES: string[];
declare const VERSION: string;

const CACHE = `floor-viewer-${VERSION}`;

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  const old = async (): Promise<void> => {
    const names = (await caches.keys()).filter((name) => name.startsWith("floor-viewer-") && name !== CACHE);
    await Promise.all(names.map((name) => caches.delete(name)));
    await self.clients.claim();
  };
  event.waitUntil(old());
});

self.addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  const scope = new URL(self.registration.scope);
  const path = new URL(url);
  const file = path.origin === scope.origin && path.pathname.startsWith(scope.pathname)
    ? path.pathname.slice(scope.pathname.length) : undefined;
  if (method !== "GET" || file === undefined || !FILES.includes(`./${file}`)) return;
  const kept = async (): Promise<Response> => {
    const found = await caches.match(`./${file}`, { cacheName: CACHE, ignoreVary: true });
    return found ?? Response.error();
  };
  event.respondWith(fetch(event.request).then((response) => (response.ok ? response : kept()), kept));
});

export {};
