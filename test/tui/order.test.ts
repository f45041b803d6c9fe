import { tool } from 'libero/testing'
import { expect, test } from 'vitest'
import { openApp } from './app-kit.ts'
import { puppetModel } from './puppet-model.ts'

test('UI84 a question stands below what the model said before it, however fast it comes', async () => {
  const model = puppetModel()
  const look = tool('look', () => 'seen', { effects: () => [] })
  const app = await openApp({ provider: model, rows: 40, tools: { look, change: tool('change', () => 'changed') } })
  app.type('go\r')
  await app.until(() => model.isAsked)
  model.say('I look first.')
  model.reply({ id: '1', name: 'look', input: { path: 'a.txt' } })
  while (!model.isAsked) await app.pass(0)
  model.say('Now I change it.')
  model.reply({ id: '2', name: 'change', input: { path: 'a.txt' } })
  while (app.chat.state.prompts.length === 0) await app.pass(0)
  await app.until(() => app.screen.lines().some((line) => line.startsWith('? Allow change?')))
  const text = app.screen.lines().join('\n')
  const places = ['I look first.', '✓ look', 'Now I change it.', '? Allow change?'].map((words) => text.indexOf(words))
  expect(places).toEqual(places.toSorted((a, b) => a - b))
  expect(places[0]).toBeGreaterThan(0)
  await app.close()
})

test('UI75 a narrower window with the search in earlier messages open leaves none of its lines in the scrollback', async () => {
  const model = puppetModel()
  const app = await openApp({ provider: model, columns: 70, rows: 19 })
  for (const text of ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'long '.repeat(12)]) {
    app.type(`${text}\r`)
    await app.until(() => model.isAsked)
    model.reply()
    await app.until(() => app.chat.state.phase === 'idle')
  }
  app.type('\x12')
  await app.pass(50)
  app.screen.resize(33, 19)
  await app.pass(50)
  expect(app.screen.lines().filter((line) => line.startsWith(' ? earlier messages:'))).toHaveLength(1)
  await app.close()
})

test('UI109 a viewer opens by its key while a command of another key is at work; each counts once', async () => {
  const over = Promise.withResolvers<void>()
  let begun = 0
  const slow = {
    ...{ name: 'slow', summary: 'Takes long' },
    run: () => {
      begun++
      return over.promise
    },
  }
  const app = await openApp({ provider: puppetModel(), commands: [slow], keys: { 'alt+w': '/slow' } })
  app.type('\x1bw')
  await app.until(() => begun === 1)
  app.type('\x1bw')
  await app.pass(100)
  app.type('\x14')
  await app.until(() => app.screen.isAlternate)
  expect(begun).toBe(1)
  over.resolve()
  await app.close()
})

test('UI107 keys in a viewer answer no question that waits below it: the viewer tells of it, and it is asked when the viewer is closed', async () => {
  const { app, model, ran } = await openWithChange()
  app.type('go\r')
  await app.until(() => model.isAsked)
  app.type('\x14')
  await app.until(() => app.screen.isAlternate)
  model.reply({ id: '1', name: 'change', input: { path: 'a.txt' } })
  await app.until(() => app.screen.visible().at(-1)!.includes('A question waits for you'))
  app.type('y')
  await app.pass(5000)
  expect(ran).toEqual([])
  app.type('q')
  await app.until(() => app.screen.visible().some((row) => row.includes('▸ n  no')))
  app.type('y') // too early: the person has just closed the viewer
  await app.pass(100)
  expect(ran).toEqual([])
  await app.pass(2000)
  app.type('y')
  await app.until(() => ran.length === 1)
  await app.close()
})

test('UI107 a question that comes while the person chooses from a list waits until they have chosen', async () => {
  const { app, model, ran } = await openWithChange()
  app.type('go\r')
  await app.until(() => model.isAsked)
  app.type('/mode\r')
  await app.until(() => app.screen.visible().some((row) => row.includes('Enter: this one')))
  model.reply({ id: '1', name: 'change', input: { path: 'a.txt' } })
  await app.until(() => app.chat.state.prompts.length === 1)
  app.type('y')
  await app.pass(5000)
  expect(app.screen.lines().join('\n')).not.toContain('Allow change?')
  app.type('\x1b')
  await app.until(() => app.screen.visible().some((row) => row.includes('▸ n  no')))
  expect(ran).toEqual([])
  await app.close()
})

test('UI75 two keys at once that open viewers open one, and nothing is drawn over the conversation', async () => {
  const { app, model } = await openWithChange()
  app.type('go\r')
  await app.until(() => model.isAsked)
  model.say('An answer.')
  model.reply()
  await app.until(() => app.chat.state.phase === 'idle')
  await app.pass(50)
  const before = app.screen.lines()
  app.type('\x14\x14\x17?')
  await app.until(() => app.screen.isAlternate)
  app.type('q')
  await app.until(() => !app.screen.isAlternate)
  await app.pass(1000)
  app.screen.resize(81, 24) // what is still open would draw itself again
  await app.pass(1000)
  expect(app.screen.lines()).toEqual(before)
  expect(app.screen.isAlternate).toBe(false)
  await app.close()
})

test.for(['/waiting', '/log', '/sessions', '/keys'])(
  'UI75 leaving with %s open, or just before it opens, leaves the conversation as it was',
  async (command) => {
    for (const turns of [0, 1, 2, 3, 5, 8, 13, 21]) {
      const { app } = await openWithChange()
      app.notify('A line of the conversation')
      app.type(`${command}\r`)
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
      await app.close()
      const left = app.screen.writes.length
      app.screen.output.emit('resize') // a viewer that is still open would draw itself
      for (let turn = 0; turn < 30; turn++) await app.pass(10)
      expect(app.screen.writes.slice(left)).toEqual([])
      expect(app.screen.isAlternate).toBe(false)
      expect(app.screen.lines()).toContain('! A line of the conversation')
    }
  },
)

async function openWithChange() {
  const model = puppetModel()
  const ran: string[] = []
  const change = tool('change', () => {
    ran.push('change')
    return 'changed'
  })
  return { app: await openApp({ provider: model, tools: { change } }), model, ran }
}
