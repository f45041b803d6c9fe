import { visibleName } from '../../platform/visible-text.ts'

/** Tells that a request failed and is repeated: why, when, and whether the text shown so far is void. */
export function retryNotice(
  { reason, delayMs = 0 }: { readonly reason: string; readonly delayMs?: number },
  isPrinted: boolean,
): string {
  const [, address, why] = /^(?:Provider "[^"]*" failed: )?No answer from ([^\s;,]+): (.*)$/s.exec(reason) ?? []
  const words = shorten(why ?? reason).slice(0, 300)
  const what =
    reasons.get(reason) ??
    (address === undefined
      ? `the service broke off (${visibleName(words)})`
      : `the service at ${visibleName(address)} does not answer (${visibleName(words)})`)
  const voided = isPrinted ? '; ignore its text so far' : ''
  const when = delayMs >= 1000 ? ` in ${Math.round(delayMs / 1000)} s` : ''
  return `… ${what}${voided}; trying again${when}`
}

/** Reasons to repeat a request although the service did not fail. */
const reasons = new Map([
  [
    'the conversation was made shorter',
    'the conversation did not fit into the context of the model, and was made shorter',
  ],
  ['what the service refused was set aside', 'what the service refused was set aside'],
  ['the reply was empty', 'the reply was empty'],
])

/** Without the advice, which the final error repeats. */
const shorten = (why: string): string =>
  withoutOptions(why)
    .replace(/^Provider "[^"]*" failed: /, '')
    .replace(/; (?:check the address, the headers and the network|send the request again)$/, '')
    .replace(/^write EPROTO .*$/s, 'EPROTO')
    .trim()

/** A message without its advice to raise an option of the API, which the command line does not have. */
export const withoutOptions = (message: string): string =>
  message.replace(/; (?:for|if) [^;]*\braise \w+ of [^;]*$/s, '')
