// The interactive terminal on the real terminal of this process. What happens in it is told by lines of JSON on a socket,
// whose path is argv[2], so that the clock and the model do what the test says: see terminal-app.ts.
import { createConnection } from 'node:net'
import { createInterface } from 'node:readline'
import { openAppOn } from './app-kit.ts'
import { puppetModel } from './puppet-model.ts'
import { type Drawn, type FromTest, markOf, type ToTest, terminalTools } from './terminal-app.ts'

const socket = createConnection(process.argv[2]!)
const { stdin, stdout } = process
let typed = 0
let marks = 0
let drawn: Drawn[] = []
let scene: Awaited<ReturnType<typeof open>> | undefined

async function open(kind: 'golden' | 'fuzz') {
  const model = puppetModel()
  const work = terminalTools(kind)
  const app = await openAppOn({
    ...{ provider: model, stdin, output: stdout, tools: work.tools, files: { 'src/cart.js': 'one\nthree\n' } },
    watch: (surface) => ({
      ...surface,
      commit(lines) {
        drawn.push({ commit: [...lines] })
        surface.commit(lines)
      },
      frame(lines, caret) {
        drawn.push({ frame: [...lines], most: surface.most, ...(caret && { caret }) })
        surface.frame(lines, caret)
      },
      clear() {
        drawn.push({ clear: true })
        surface.clear()
      },
      get most() {
        return surface.most
      },
    }),
  })
  const over = { isOver: false }
  const end = (): void => void Object.assign(over, { isOver: true })
  app.ended.then(end, end)
  return { app, model, work, over }
}

const acts: { [Name in FromTest['do']]: (message: Extract<FromTest, { do: Name }>) => unknown } = {
  async open({ kind }) {
    scene = await open(kind)
  },
  say: ({ text }) => scene!.model.say(text),
  think: ({ text }) => scene!.model.think(text),
  retry: () => scene!.model.retry('the service is busy'),
  fail: () => scene!.model.fail(new Error('the line is cut')),
  reply: ({ calls }) => scene!.model.reply(...calls),
  finish: () => scene!.work.finish(),
  notify: ({ text }) => scene!.app.notify(text),
  stop: () => scene!.app.chat.stop(),
  async pass({ ms, typed: wanted, columns, rows }) {
    while (typed < wanted) await new Promise((resolve) => setImmediate(resolve))
    while (stdout.columns !== columns || stdout.rows !== rows) await new Promise((resolve) => setImmediate(resolve))
    await scene!.app.pass(ms)
    const { state } = scene!.app.chat
    const told: ToTest = {
      mark: ++marks,
      drawn,
      ...{
        phase: state.phase,
        queued: state.queue.length,
        prompts: state.prompts.length,
        todos: state.view.todos.length,
      },
      ...{ isAsked: scene!.model.isAsked, calls: scene!.work.open(), isOver: scene!.over.isOver },
    }
    drawn = []
    stdout.write(markOf(marks)) // behind all that was drawn
    socket.write(`${JSON.stringify(told)}\n`)
  },
  close: () => scene!.app.close(),
  exit: () => process.exit(),
}

stdin.on('data', (chunk) => {
  typed += chunk.length
})
let last: Promise<unknown> = Promise.resolve()
createInterface({ input: socket }).on('line', (line) => {
  const message = JSON.parse(line) as FromTest
  last = last.then(() => acts[message.do](message as never))
})
