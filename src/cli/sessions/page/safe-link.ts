const schemes = new Set(['http:', 'https:', 'mailto:'])

/**
 * Where a link goes, if it may go there: to the web or to a mailbox. Read as a browser reads it, so that tabs and line
 * breaks in a scheme hide nothing; an entity in it is no entity here, since whoever writes it down escapes it.
 */
export function safeLink(href: string): { readonly href: string; readonly host: string } | undefined {
  const url = URL.parse(href)
  if (!url || !schemes.has(url.protocol)) return undefined
  const host = url.protocol === 'mailto:' ? url.pathname : url.host
  return { href: url.href, host }
}

/** Where something would be loaded from, for people. */
export function hostOf(href: string): string {
  const url = URL.parse(href)
  if (!url) return 'a relative address'
  return url.host === '' ? `a ${url.protocol} address` : url.host
}
