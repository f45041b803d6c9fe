// An agent with a person at its terminal, as a separate process: argv holds the shell commands that its model runs,
// questions it asks, or edits of the file a.txt that it makes in one call, as `old=new`. The result is written to the file $RESULT, because the terminal is under test.
import { writeFileSync } from 'node:fs'
import { createAgent, createProcessContext } from 'libero'
import { createAuthority } from 'libero/authority'
import { codingTools } from 'libero/presets'
import { call, scripted } from 'libero/testing'
import { askUser } from 'libero/tools'
import { createPerson } from '../../src/tui/dialogs/person.ts'
import { openKeyboard } from '../../src/tui/input/keyboard.ts'
import { readLine } from '../../src/tui/input/read-line.ts'
import { createTerminal } from '../../src/tui/terminal/terminal.ts'

const [kind = 'shell', ...words] = process.argv.slice(2)
const terminal = createTerminal(process)
const keyboard = openKeyboard(process)
if (!keyboard) throw new Error('there is no keyboard')

const results: string[] = []
const decisions: string[] = []
let interrupts = 0
const agent = createAgent({
  tools: { ...codingTools, askUser },
  // The same words on every machine.
  execution: createProcessContext({ cwd: process.cwd(), sandbox: 'off' }),
  provider: scripted(...calls().map((one) => [one]), 'Done.'),
  authority: createAuthority({
    mode: 'ask',
    interactors: [
      createPerson({
        terminal,
        keyboard,
        // A process that is busy while the question opens reads keys late.
        screen: { pause: () => void setImmediate(blockFor, Number(process.env.BUSY_MS ?? 0)), resume() {} },
        onInterrupt: () => {
          interrupts++
        },
      }),
    ],
  }),
})
agent.hooks.hook('tool:after', ({ result }) => void results.push(String(result)))
agent.hooks.hook('tool:decision', ({ decision }) => void decisions.push(decision.why))

let status: string
let secret: string | undefined
if (kind === 'secret') {
  secret = await readLine(terminal, keyboard, { prompt: 'key: ', isSecret: true }).catch((error) => error.name)
  status = 'asked'
} else {
  const run = agent.run({ prompt: 'Do it.' })
  status = await run.then(
    (stats) => String(stats.status),
    (error) => error.name,
  )
}
await agent.destroy()
keyboard.close()
terminal.close()
writeFileSync(process.env.RESULT!, JSON.stringify({ status, results, decisions, interrupts, secret }))

function calls() {
  if (kind !== 'edits') return words.map((word, i) => wanted(`c${i}`, word))
  const edits = words.map((word) => word.split('=')).map(([old_string, new_string]) => ({ old_string, new_string }))
  return [call('c0', 'multi_edit', { path: 'a.txt', edits })]
}

function wanted(id: string, word: string) {
  return kind === 'ask' ? call(id, 'ask_user', { question: word }) : call(id, 'shell', { command: word })
}

function blockFor(ms: number): void {
  if (ms > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
