/** `libero/web`: the page for a server of `libero/server`, as a function from `Request` to `Response`. */

export type { LiberoServer } from '../server/create-server.ts'
export type { HostGuardOptions } from '../server/host-guard.ts'
export { createWebPage, type WebPage, type WebPageOptions } from './create-web-page.ts'
export type { RendererKit, WaitingForPerson } from './page-renderers.ts'
