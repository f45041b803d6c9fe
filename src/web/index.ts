/** `libero/web`: the page for a server of `libero/server`, as a function from `Request` to `Response`. */

export type { LiberoServer } from '../server/create-server.ts'
export { createWebPage } from './create-web-page.ts'
export type { RendererKit } from './page-renderers.ts'
