import { decodeEntities } from './entities.ts'

/** Where a link leads, as it is shown; `undefined` where it leads nowhere we would name. */
export function shownTarget(href: string): string | undefined {
  const target = decodeEntities(href)
  const url = URL.parse(target)
  if (!url) return isPlainPath.test(target) ? target : undefined
  if (!schemes.includes(url.protocol)) return undefined
  // As the browser would read it: what stands before an @ is not taken for the host.
  const whole = url.href
  if (whole.length <= longestTarget) return whole
  return url.host === '' ? `${whole.slice(0, longestTarget)}…` : `${url.origin}/…`
}

/** Whose image it would be; nothing is ever fetched. */
export function imageSource(src: string): string {
  const url = URL.parse(decodeEntities(src))
  if (!url) return 'a file'
  return url.host || url.protocol.replace(':', '')
}

const schemes: readonly string[] = ['http:', 'https:', 'mailto:']
const longestTarget = 200
/** A file or a place in this text: nothing that any program could take for a scheme. */
const isPlainPath = /^[\w./#?=~ -]{1,200}$/
