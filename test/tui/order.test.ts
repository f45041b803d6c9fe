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
