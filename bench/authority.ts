import { decide } from '../src/authority/decide.ts'
import { type AskedCall, prepareCall } from '../src/authority/prepare-call.ts'
import { resolveSettings } from '../src/authority/rules/settings.ts'
import { createShellReader } from '../src/shell/shell-reader.ts'
import { createShellTool } from '../src/tools/shell.ts'
import { writeFile } from '../src/tools/write-file.ts'
import { authorityGaps } from './authority-gaps.ts'
import { compare, measure, type Result } from './measure.ts'

const root = '/desk/project'
const workspace = { root, isTrusted: true }
const calls = 100

/** What a decision costs, with all that is found out for it, and what many rules cost, against what we promise. */
export async function authority(): Promise<Result[]> {
  const reader = createShellReader()
  try {
    const { mode, rules } = resolveSettings({
      launch: { mode: 'allowlist', deny: rulesOf(50), allow: rulesOf(50, 50) },
    })
    const many = rulesOf(10_000)
    const write: AskedCall = {
      tool: writeFile,
      input: { path: 'src/deep/folder/file.ts', content: 'x' },
      effects: ['fs.write'],
    }
    const judge = async (asked: AskedCall): Promise<void> => {
      decide(await prepareCall(asked, workspace, reader.read), { mode, rules, root })
    }
    const shell = createShellTool()
    let lines = 0
    const asked = (command: string): AskedCall => ({ tool: shell, input: { command }, effects: ['exec'] })
    const times = async (work: () => Promise<void>): Promise<void> => {
      for (let n = 0; n < calls; n++) await work()
    }
    const [file, cached, read] = await measure(
      [
        { label: 'file', run: () => times(() => judge(write)) },
        { label: 'line, read before', run: () => times(() => judge(asked(longLine(0)))) },
        { label: 'line, never seen', run: () => times(() => judge(asked(longLine(++lines)))) },
      ],
      calls,
    )
    const [compiled] = await measure(
      [{ label: 'rules', run: async () => void resolveSettings({ launch: { deny: many } }) }],
      1,
    )
    return [
      compare('decision: file call, 100 rules, against 50 µs', file!, 50, 1, 'call'),
      compare('decision: 200-character line, against 1 ms', cached!, 1000, 1, 'call'),
      compare('decision: the same, never seen, against 1 ms', read!, 1000, 1, 'call'),
      compare('compiling 10,000 rules, against 50 ms', compiled!, 50_000, 1, 'set'),
      ...(await authorityGaps()),
    ]
  } finally {
    await reader.close()
  }
}

const kinds: readonly ((n: number) => string)[] = [
  (n) => `fs.write:folder-${n}/*`,
  (n) => `shell:program-${n} *`,
  (n) => `write_file:key-${n}`,
  (n) => `net:*.host-${n}.example`,
  (n) => `shell:git verb-${n}`,
]

const rulesOf = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, i) => kinds[i % kinds.length]!(from + i))

/** Ordinary commands, to the length of 200 characters. */
function longLine(n: number): string {
  const line = `cd src && ls -la deep/folder && git log --oneline -n 20 && grep -rn "needle ${n}" core tools | sort | uniq -c | head -n 5`
  return `${line} && echo ${'x'.repeat(200 - line.length - 9)}`
}
