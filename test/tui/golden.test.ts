import { tool } from 'libero/testing'
import { test } from 'vitest'
import { openApp } from './app-kit.ts'
import { expectGolden } from './golden.ts'
import { type PuppetModel, puppetModel } from './puppet-model.ts'

const sizes = [
  [80, 24],
  [40, 10],
  [20, 5],
  [200, 60],
] as const

const answer = `I run the tests *first*.

| file | result |
|---|---|
| cart.test.js | 1 failed |

\`\`\`js
const whole = items.reduce((sum, { price }) => sum + price, 0)
\`\`\`

- the rebate is **added**
- it should be subtracted`

test.for(sizes)(
  'UI76 the first screen, an answer that streams and one that is complete, at %i × %i',
  async ([columns, rows]) => {
    const { app, model, golden } = await opened(columns, rows)
    golden('first')
    app.type('Find the failing test and fix it')
    await app.pass(50)
    golden('typed')
    app.type('\r')
    await app.until(() => model.isAsked)
    await app.pass(50)
    golden('waiting')
    model.say(answer)
    await app.pass(50)
    golden('streaming')
    model.reply()
    await app.until(() => app.chat.state.phase === 'idle')
    await app.pass(50)
    golden('answered')
    await app.close()
  },
)

test.for(sizes)('UI76 calls at work, done and refused, and an approval, at %i × %i', async ([columns, rows]) => {
  const { app, model, golden, ask } = await opened(columns, rows)
  await ask('Look around')
  model.say('I look.')
  model.reply(look('1'), look('2'))
  await app.until(() => looks.length === 2)
  await app.pass(50)
  golden('calls-at-work')
  for (const done of looks.splice(0)) done()
  await app.until(() => model.isAsked)
  await app.pass(50)
  golden('calls-done')
  model.reply({ id: 'w', name: 'write_file', input: { path: 'src/cart.js', content: 'one\ntwo\nthree\n' } })
  await app.until(() => app.screen.visible().some((row) => row.includes('n  no')))
  await app.pass(1000)
  golden('approval')
  app.type('n')
  await app.until(() => model.isAsked)
  await app.pass(50)
  golden('refused')
  await app.close()
})

test.for(sizes)(
  'UI76 commands to complete, the queue, the todo list and stopping, at %i × %i',
  async ([columns, rows]) => {
    const { app, model, golden, ask } = await opened(columns, rows)
    app.type('/se')
    await app.until(() => app.screen.visible().some((row) => row.includes('/sessions')))
    golden('completion')
    app.type('\x15')
    await ask('Work')
    const todos = [
      { content: 'Run the tests', status: 'completed' },
      { content: 'Fix the cart', status: 'in_progress' },
      { content: 'Run them again', status: 'pending' },
    ]
    model.reply({ id: 't', name: 'todowrite', input: { todos } })
    await app.until(() => app.chat.state.view.todos.length === 3 && model.isAsked)
    app.type('And look at rounding\x1b\r')
    await app.until(() => app.chat.state.queue.length === 1)
    await app.pass(50)
    golden('queue')
    app.chat.stop()
    await app.until(() => app.chat.state.phase === 'idle')
    await app.pass(50)
    golden('stopped')
    await app.close()
  },
)

const look = (id: string) => ({ id, name: 'look', input: { path: `src/file-${id}.ts` } })
/** Ends the calls of `look` that are at work. */
const looks: (() => void)[] = []

async function opened(columns: number, rows: number) {
  const model: PuppetModel = puppetModel()
  const { todowrite, writeFile } = await import('libero/tools')
  const lookTool = tool('look', () => new Promise((resolve) => looks.push(() => resolve('one\ntwo\nthree'))), {
    effects: () => [],
    isConcurrencySafe: true,
  })
  const app = await openApp({
    ...{ provider: model, columns, rows },
    tools: { look: lookTool, todowrite, write_file: writeFile },
    files: { 'src/cart.js': 'one\nthree\n' },
  })
  const golden = (name: string): void => expectGolden(`${columns}x${rows}-${name}`, app.screen)
  const ask = async (text: string): Promise<void> => {
    app.type(`${text}\r`)
    await app.until(() => model.isAsked)
  }
  return { app, model, golden, ask }
}
