const schemes = new Set(['http:', 'https:', 'mailto:'])

/**
 * Where a link goes, if it may go there: to the web or to a mailbox. Read as a browser reads it, so that tabs and line
 * breaks in a scheme hide nothing; an entity in it is no entity here, since whoever writes it down escapes it.
 */
export function safeLink(href: string): { readonly href: string; readonly host: string } | undefined {
  let url: URL
  try {
    url = new URL(href)
  } catch {
    return undefined
  }
  if (!schemes.has(url.protocol)) return undefined
  const host = url.protocol === 'mailto:' ? url.pathname : url.host
  return { href: url.href, host }
}

/** Where something would be loaded from, for people. */
export function hostOf(href: string): string {
  try {
    const { host, protocol } = new URL(href)
    return host === '' ? `a ${protocol} address` : host
  } catch {
    return 'a relative address'
  }
}
