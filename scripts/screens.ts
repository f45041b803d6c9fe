/** Draws docs/screens/*.svg from sessions that run in an emulator: `npx node --conditions=libero-source scripts/screens.ts`. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { codingTools } from 'libero/presets'
import { call, memoryExecution } from 'libero/testing'
import { type AppInMemory, openApp } from '../test/tui/app-kit.ts'
import { type PuppetModel, puppetModel } from '../test/tui/puppet-model.ts'
import { screenSvg } from './screens/screen-svg.ts'

export const screensFolder = new URL('../docs/screens/', import.meta.url)

/** The pictures by file name. */
export async function drawScreens(): Promise<Readonly<Record<string, string>>> {
  const pictures: Record<string, string> = {}
  const { app, model } = await openScene()
  const picture = (name: string, title: string): void => {
    pictures[`${name}.svg`] = screenSvg(app.screen.emulator, { title, cursor: app.screen.cursor() })
  }
  app.type('/se')
  await app.until(() => has(app, '/sessions'))
  picture('commands', 'Commands are completed while they are typed')
  app.type('\x15Find the failing test and fix it\r')
  await answer(app, model, 'I run the tests first.', call('1', 'shell', { command: 'node --test' }))
  await allow(app)
  await answer(app, model, '', call('2', 'read_file', { path: 'src/cart.js' }))
  const found = 'The rebate is **added** in `discounted`; it has to be subtracted.'
  const change = { path: 'src/cart.js', old_string: 'whole + rebate', new_string: 'whole - rebate' }
  await answer(app, model, found, call('3', 'edit', change))
  await asked(app)
  picture('approval', 'A change is shown before it is approved')
  await allow(app)
  await answer(app, model, '', call('4', 'shell', { command: 'node --test' }))
  await allow(app)
  await answer(app, model, 'All tests pass now:\n\n- `discounted` subtracts the rebate\n- nothing else had to change')
  await standing(app, () => app.chat.state.phase === 'idle')
  app.type('also look at rounding')
  await app.pass(100)
  picture('conversation', 'A conversation in the terminal')
  await app.close()
  return pictures
}

async function openScene() {
  const model = puppetModel()
  let isFixed = false
  const execution = memoryExecution({
    files: { 'src/cart.js': cart },
    exec: () => {
      const result = isFixed
        ? { stdout: 'ok 1 - discount is taken off\n# pass 1\n' }
        : { stdout: 'not ok 1 - discount is taken off: expected 30, got 50\n# fail 1\n', exitCode: 1 }
      isFixed = true
      return result
    },
  })
  const env = { NO_COLOR: '', FORCE_COLOR: '1', COLORTERM: 'truecolor' }
  const app = await openApp({ provider: model, columns: 90, rows: 32, tools: codingTools, execution, env })
  return { app, model }
}

const cart = `export function discounted(items, percent) {
  const whole = items.reduce((sum, { price }) => sum + price, 0)
  const rebate = (whole * percent) / 100
  return whole + rebate
}
`

/** The model says something and calls tools. */
async function answer(
  app: AppInMemory,
  model: PuppetModel,
  text: string,
  ...calls: ReturnType<typeof call>[]
): Promise<void> {
  await standing(app, () => model.isAsked)
  await app.pass(50)
  if (text !== '') model.say(text)
  model.reply(...calls.map(({ id, name, input }) => ({ id, name, input: { ...(input as object) } })))
}

async function allow(app: AppInMemory): Promise<void> {
  await asked(app)
  app.type('y')
  await standing(app, () => app.chat.state.prompts.length === 0)
}

/** A question is shown, and takes keys. */
async function asked(app: AppInMemory): Promise<void> {
  await standing(app, () => app.chat.state.prompts.length > 0)
  await app.pass(1000)
}

/** Waits while the clock of the session stands still: however slow the machine is, the picture is the same. */
async function standing(app: AppInMemory, isSo: () => boolean): Promise<void> {
  for (let turn = 0; !isSo(); turn++) {
    if (turn > 10_000) throw new Error(`it did not happen:\n${app.screen.visible().join('\n')}`)
    await app.pass()
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

const has = ({ screen }: AppInMemory, words: string): boolean => screen.visible().some((row) => row.includes(words))

if (import.meta.main) {
  mkdirSync(screensFolder, { recursive: true })
  for (const [name, svg] of Object.entries(await drawScreens())) writeFileSync(new URL(name, screensFolder), svg)
  process.exit(0)
}
