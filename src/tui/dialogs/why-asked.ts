import { isRecord } from '../../core/is-record.ts'
import { fullyVisible } from '../../platform/visible-text.ts'

type Payload = Readonly<Record<string, unknown>>

/** Why a person is asked about a call, and what would change it. The reason is the authority's; the advice is ours. */
export function whyAsked(payload: Payload): string[] {
  const { calls } = payload
  const several = Array.isArray(calls) ? calls.filter(isRecord) : []
  const list = several.length > 0 ? several : [payload]
  const blocks = list.map(explanation)
  // Calls that are asked about for one reason are explained once.
  return [...new Map(blocks.map((lines) => [lines.join('\n'), lines])).values()].flat()
}

function explanation({ consent, description }: Payload): string[] {
  const { by, why, rule } = isRecord(consent) && isRecord(consent.asked) ? consent.asked : {}
  const reason = typeof why === 'string' ? why : /^asked because: (.*)$/m.exec(String(description ?? ''))?.[1]
  return [
    `asked because ${fullyVisible(reason ?? 'the program that sent the question gives no reason')}`,
    ...(typeof rule === 'string' && rule !== '' ? [`the rule: ${fullyVisible(rule)}`] : []),
    ...(advice[String(by)] ?? advice.other!).map((line) => `to change it: ${line}`),
  ]
}

/** By what decided: see `DecidedBy`. */
const advice: Readonly<Record<string, readonly string[]>> = {
  'mode-gate': [
    's or p here, for calls like this one, in this session or project',
    'a rule under "allow" in your settings; libero policy explain shows what it would cover',
    'another mode: allowlist allows what is listed, plan refuses all that changes something',
  ],
  'ask-rule': ['s or p here, for calls like this one', 'change or remove the rule in the settings that have it'],
  sandbox: [
    'run it inside the sandbox, where it is not asked about',
    'a sandbox that works: libero doctor says what is missing',
  ],
  floor: ['nothing: calls of this kind are asked about each time, whatever rules and modes say'],
  'sm-grant-token': ['the stage of the work decides; it is asked about until the next one'],
  other: ['an approval or a rule that covers it; libero policy explain shows what decides'],
}
