/** `libero/web`: the page for a server of `libero/server`, as a function from `Request` to `Response`. */

export { createWebPage, type WebPage, type WebPageOptions } from './create-web-page.ts'
