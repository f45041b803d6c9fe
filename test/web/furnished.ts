import { execFileSync } from 'node:child_process'
import { expect, vi } from 'vitest'
import { type Desk, openDesk } from '../cli/cli-kit.ts'
import { type Serving, startServing } from '../cli/serve-kit.ts'
import type { MockService } from '../rpc/mock-service.ts'

export interface Furnished extends Serving {
  readonly desk: Desk
  /** The address that logs in. */
  readonly link: string
}

const cart = `export function total(items) {
  return items.reduce((sum, { price }) => sum + price, 0)
}

export function discounted(items, percent) {
  const whole = total(items)
  const rebate = (whole * percent) / 100
  return whole + rebate
}
`

const cartTest = `import assert from 'node:assert'
import test from 'node:test'
import { discounted } from '../src/cart.js'

test('a discount is taken off', () => assert.equal(discounted([{ price: 40 }], 25), 30))
`

const review = `## Three findings

The change is **small and sound**. What I would still do:

1. \`discounted\` rounds nowhere: \`0.1 + 0.2\` becomes \`0.30000000000000004\`.
2. The name *rebate* is used once; \`percent\` may be negative.
3. There is no test for an empty cart.

| file | lines | risk |
|---|---:|---|
| src/cart.js | 9 | low |
| test/cart.test.js | 16 | none |

\`\`\`js
export function discounted(items, percent) {
  const whole = total(items)
  return Math.round(whole * (100 - percent)) / 100 // cents
}
\`\`\`

> A rebate is not a discount: ask the shop.

See [the documentation](https://example.com/cart).
`

/** \`libero web\` as a process of its own, on a project with sessions in every state that a page shows. */
export async function furnish(service: MockService, onEnd?: (end: () => void) => void): Promise<Furnished> {
  const desk = openDesk(service.url, onEnd, { snapshots: true })
  desk.write('package.json', '{ "name": "shop", "type": "module" }\n')
  desk.write('src/cart.js', cart)
  desk.write('test/cart.test.js', cartTest)
  const git = (...args: string[]) => execFileSync('git', args, { cwd: desk.cwd, env: { ...desk.env, HOME: desk.home } })
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('-c', 'user.name=Ann', '-c', 'user.email=ann@example.com', 'commit', '-qm', 'A shop')
  const serving = await startServing(desk, [], 'web')
  const { send, untilOver } = serving

  async function session(id: string, title: string, message: string, more: object = {}): Promise<void> {
    await send('/v1/sessions', { id, title, message, folder: desk.cwd, ...more })
    await untilOver(id)
  }

  service.play({ status: 400, message: 'The model mock-1 is overloaded with this request' })
  await session('nightly', 'Nightly report', 'Write the nightly report', { tags: ['nightly'] })
  service.play([{ call: 'read_file', args: { path: 'src/cart.js' } }], [{ say: review }])
  await session('review', 'Review the change', 'Review the last change', { tags: ['review'] })
  service.play([
    { say: 'The cart needs a place to keep its items.' },
    { call: 'ask_user', args: { question: 'Which database shall the cart use?', options: ['SQLite', 'Postgres'] } },
  ])
  await session('database', 'Where the cart is kept', 'Keep the cart between visits')
  service.play([
    { call: 'present_plan', args: { plan: '## Plan\n\n1. Add rounding\n2. Test an empty cart\n3. Release 1.1' } },
  ])
  await session('plan', 'Plan the release', 'Plan the release of 1.1')
  const edit = { path: 'src/cart.js', old_string: 'return whole + rebate', new_string: 'return whole - rebate' }
  const todo = ['Run the tests', 'Fix the cause', 'Run the tests again']
  const todos = todo.map((content, i) => ({ content, status: (['completed', 'in_progress', 'pending'] as const)[i] }))
  service.play(
    [
      { say: "I'll run the tests first." },
      { call: 'shell', args: { command: 'node --test' } },
      { call: 'todowrite', args: { todos } },
    ],
    [
      { call: 'read_file', args: { path: 'test/cart.test.js' } },
      { call: 'read_file', args: { path: 'src/cart.js' } },
    ],
    [{ say: 'The rebate is added instead of subtracted in `discounted`.' }, { call: 'edit', args: edit }],
  )
  await session('fix', 'Fix the failing test', 'Find the failing test and fix it')
  // The tests may run; the edit waits.
  const { pending } = (await send('/v1/pending?session=fix')).body
  await send(`/v1/sessions/fix/answers/${pending[0].callId}`, { decision: 'allow', digest: pending[0].digest })
  const waiting = async () => (await send('/v1/pending?session=fix')).body.pending[0]?.name
  await vi.waitFor(async () => expect(await waiting()).toBe('edit'), { timeout: 25_000 })
  await untilOver('fix')
  const [, link = ''] = /^open (\S+)/.exec(serving.said.out)!
  return { ...serving, desk, link }
}
