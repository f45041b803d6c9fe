import { createRedactor } from '../src/platform/redact.ts'
import { compare, measure, type Result } from './measure.ts'

/** What it costs to take secrets out of an export, against parsing and writing the same lines. */
export async function redaction(): Promise<Result[]> {
  const lines = Array.from({ length: 2000 }, (_, i) => JSON.stringify(entryOf(i)))
  const megabytes = lines.reduce((sum, line) => sum + line.length, 0) / 1e6
  const [floor, ours] = await measure(
    [
      {
        label: 'parse and write',
        async run() {
          for (const line of lines) JSON.stringify(JSON.parse(line))
        },
      },
      {
        label: 'redact',
        async run() {
          const redactor = createRedactor()
          for (const line of lines) redactor.learn(JSON.parse(line))
          for (const line of lines) JSON.stringify(redactor.json(JSON.parse(line)))
        },
      },
    ],
    megabytes,
  )
  return [compare('secrets taken out of an export', ours!, floor!, 15, 'MB')]
}

/** A turn of an ordinary session: prose, code and output of tools, and a secret in one of a hundred. */
function entryOf(i: number) {
  const secret = i % 100 === 0 ? ` API_KEY=k-${i}-0123456789abcdef` : ''
  const text = `${paragraph.repeat(3)}${secret}`
  const content = [
    { type: 'text', text },
    { type: 'tool_result', callId: `call-${i}`, output: paragraph },
  ]
  return {
    seq: i,
    id: `e-${i}`,
    at: 1_700_000_000_000 + i,
    type: 'turn',
    turn: { id: `t-${i}`, role: 'user', content },
  }
}

const paragraph = `The parser reads one line after the other from https://example.test/path?x=1 and writes src/platform/redact.ts:12.
const answer = compute(input) // the tokens of a turn, and the key of its cache
export function keyOf(value: string): string { return value.trim() }
$ npm run test -- --watch
error TS2345: Argument of type 'string' is not assignable to parameter of type 'number'.
`
