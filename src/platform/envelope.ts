import { fullyVisible, withoutHidden } from './visible-text.ts'

interface EnvelopeOptions {
  /** Where the text comes from, such as `tool:web_fetch` or `file:README`. */
  readonly origin: string
  /**
   * Part of the tags, so that the author of the text cannot guess them. Default: random. To get the same bytes for the
   * same input, pass a digest that depends on all of the text.
   */
  readonly nonce?: string
}

/**
 * Encloses the text of a tool in tags that it cannot contain, with its origin. Characters that only machines read (tag
 * characters, bidi controls, escapes) are removed and counted.
 */
export function wrapUntrusted(text: string, options: EnvelopeOptions): string {
  const { text: sealed, hidden } = sealUntrusted(text)
  return encloseSealed(sealed, { ...options, hidden })
}

/** The content of an envelope; undefined unless the text is exactly one envelope, with this nonce if given. */
export function unwrapUntrusted(wrapped: string, nonce?: string): Unwrapped | undefined {
  const [tag = '', seen = '', origin = '', , hidden = '0'] = opening.exec(wrapped) ?? []
  const closing = closingTag(seen)
  if (tag === '' || (nonce !== undefined && seen !== nonce) || !wrapped.endsWith(closing)) return undefined
  const inside = wrapped.slice(tag.length, -closing.length)
  if (wrapped.length < tag.length + closing.length || inside.includes('<')) return undefined
  return { origin: unescaped(origin), text: unescaped(inside), hidden: Number(hidden) }
}

interface Unwrapped {
  readonly origin: string
  readonly text: string
  /** How many characters were removed. */
  readonly hidden: number
}

/** The escaped text for the inside of an envelope. It may be cut before it is enclosed: no part of it can close the tags. */
export function sealUntrusted(text: string): { readonly text: string; readonly hidden: number } {
  const { text: shown, hidden } = withoutHidden(text)
  return { text: escaped(shown), hidden }
}

/** Puts the tags around what `sealUntrusted` gave. */
export function encloseSealed(sealed: string, options: EnvelopeOptions & { readonly hidden?: number }): string {
  const { origin, nonce = randomNonce(), hidden = 0 } = options
  if (!/^[a-z0-9]{8,64}$/.test(nonce))
    throw new TypeError(`The nonce "${nonce}" is not one: give 8 to 64 small letters and digits`)
  const note = hidden > 0 ? ` hidden="${hidden}"` : ''
  return `<untrusted-${nonce} origin="${escaped(fullyVisible(origin)).replaceAll('"', "'")}"${note}>\n${sealed}${closingTag(nonce)}`
}

const opening = /^<untrusted-([a-z0-9]{8,64}) origin="([^"<\n]*)"( hidden="(\d{1,15})")?>\n/
const closingTag = (nonce: string): string => `\n</untrusted-${nonce}>`

const randomNonce = (): string => crypto.randomUUID().replaceAll('-', '').slice(0, 16)

// An `&` is only escaped if it would read as an escaped `<`, so that code stays readable.
const escaped = (text: string): string => text.replaceAll(/&(?=(?:amp;)*lt;)/g, '&amp;').replaceAll('<', '&lt;')
const unescaped = (text: string): string =>
  text.replaceAll(/&(amp;)?((?:amp;)*lt;)/g, (_, amp, rest) => (amp === undefined ? '<' : `&${rest}`))
