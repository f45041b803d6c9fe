/** An element of a page, as a browser would see its beginning. */
interface Element {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
}

/** Which elements a page may have, and which attributes with which values. */
const allowed: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  ...Object.fromEntries(
    'h1 h2 h3 h4 h5 h6 ul ol li blockquote hr br strong em del code table thead tbody tr th td summary dl dt dd header main footer div article pre p span details html head body title style meta'
      .split(' ')
      .map((name) => [name, {}]),
  ),
  h1: { dir: /^auto$/ },
  ol: { start: /^\d+$/ },
  div: { class: /^(?:wide|block|label|plain|note|who)$/ },
  p: { class: /^(?:gone|label)$/ },
  pre: { class: /^(?:diff|prose)$/ },
  span: { class: /^(?:gone|host|lang|add|del|at|what|mark (?:good|bad|waits))$/ },
  article: { class: /^(?:user|assistant)$/, dir: /^auto$/ },
  details: { class: /^(?:call|child|thinking)$/ },
  a: { href: /^(?:https?|mailto):/, target: /^_blank$/, rel: /^noopener noreferrer nofollow$/ },
  img: { src: /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/, alt: /^an image$/ },
}

/** The allow-list of a whole page. */
const ofPage: typeof allowed = {
  html: { lang: /^en$/ },
  meta: {
    charset: /^utf-8$/,
    'http-equiv': /^Content-Security-Policy$/,
    name: /^(?:viewport|referrer|robots)$/,
    content: /^[^<>]*$/,
  },
}

/** Every beginning of an element. Text that was escaped has none. */
export function elementsIn(html: string): Element[] {
  return Array.from(html.matchAll(/<([a-zA-Z][^\s/>]*)([^>]*)>/g), ([, name = '', rest = '']) => ({
    name: name.toLowerCase(),
    attributes: Object.fromEntries(
      Array.from(rest.matchAll(/([^\s=/"'>]+)(?:="([^"]*)")?/g), ([, key = '', value = '']) => [key, value]),
    ),
  }))
}

/** Whatever is in a page that has no business there; none in one that is safe. */
export function strangersIn(html: string): string[] {
  const strangers: string[] = []
  for (const [, tag = ''] of html.matchAll(/<([^>]*)/g))
    if (!/^(?:\/?[a-z][a-z0-9]*(?: [a-z-]+="[^"<>]*")*|!doctype html)$/.test(tag)) strangers.push(`<${tag}`)
  for (const { name, attributes } of elementsIn(html)) {
    const known = Object.hasOwn(allowed, name) ? { ...allowed[name], ...ofPage[name] } : undefined
    if (!known) strangers.push(name)
    for (const [key, value] of Object.entries(attributes))
      if (!known?.[key]?.test(value)) strangers.push(`${name} ${key}="${value}"`)
  }
  return strangers
}
