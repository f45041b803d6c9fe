import { visibleName } from '../../platform/visible-text.ts'
import { withoutOptions } from '../failures/system-failure.ts'

/** What is said when the model's side failed and is asked again: why, whether what was shown counts, and when. */
export function retryNotice(
  { reason, delayMs = 0 }: { readonly reason: string; readonly delayMs?: number },
  isPrinted: boolean,
): string {
  const [, place, why] = /^(?:Provider "[^"]*" failed: )?No answer from ([^\s;,]+): (.*)$/s.exec(reason) ?? []
  const words = shorter(why ?? reason).slice(0, 300)
  const what =
    own.get(reason) ??
    (place === undefined
      ? `the service broke off (${visibleName(words)})`
      : `the service at ${visibleName(place)} does not answer (${visibleName(words)})`)
  const above = isPrinted ? '; what it said so far does not count' : ''
  const when = delayMs >= 1000 ? ` in ${Math.round(delayMs / 1000)} s` : ''
  return `… ${what}${above}; trying again${when}`
}

/** What is asked again although the service did not fail. */
const own = new Map([
  [
    'the conversation was made shorter',
    'the conversation did not fit into the context of the model, and was made shorter',
  ],
  ['what the service refused was set aside', 'what the service refused was set aside'],
  ['the reply was empty', 'the reply was empty'],
])

/** Without what the last sentence says, should it come to that: what to check. */
const shorter = (why: string): string =>
  withoutOptions(why)
    .replace(/^Provider "[^"]*" failed: /, '')
    .replace(/; (?:check the address, the headers and the network|send the request again)$/, '')
    .replace(/^write EPROTO .*$/s, 'EPROTO')
    .trim()
