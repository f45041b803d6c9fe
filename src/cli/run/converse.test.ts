import { expect, test } from 'vitest'
import { exitCodes } from '../cli-error.ts'
import { type Conversation, converse } from './converse.ts'

async function talk(tasks: readonly string[], more: Partial<Conversation> = {}) {
  const left = [...tasks]
  const told: (string | undefined)[] = []
  const code = await converse({
    ask: async () => left.shift(),
    run: async (task) => {
      told.push(task)
      return exitCodes.done
    },
    showError: (text) => void told.push(`! ${text}`),
    exitCode: () => undefined,
    ...more,
  })
  return { code, told, left }
}

test('tasks run one after another until there are no more; a blank one is skipped', async () => {
  expect(await talk(['one', ' ', 'two'])).toEqual({ code: 0, told: ['one', 'two'], left: [] })
  expect(await talk([])).toEqual({ code: 0, told: [], left: [] })
})

test('the first run continues the session, without a task', async () => {
  expect((await talk(['one'], { continuesSession: true })).told).toEqual([undefined, 'one'])
})

test('exit, quit and q end the conversation', async () => {
  for (const word of ['exit', '/exit', 'quit', ' /quit ', ':q'])
    expect(await talk(['one', word, 'two'])).toEqual({ code: 0, told: ['one'], left: ['two'] })
  expect((await talk(['exit code of make?'])).told).toEqual(['exit code of make?'])
})

test('FD-32 after an error the next task is asked for; an exit code ends the conversation, failed or not', async () => {
  const told: string[] = []
  let ending: number | undefined
  const run = async (task: string | undefined) => {
    if (task === 'signal') ending = exitCodes.terminated
    if (task === 'crash') ending = exitCodes.error
    if (task === 'bad' || task === 'crash') throw new Error(`${task}: no network`)
  }
  const more = { run, showError: (text: string) => void told.push(text), exitCode: () => ending }
  expect(await talk(['bad', 'fine', 'signal', 'never'], more)).toMatchObject({ code: 143, left: ['never'] })
  ending = undefined
  expect(await talk(['crash', 'never'], more)).toMatchObject({ code: 1, left: ['never'] })
  expect(told).toEqual(['bad: no network', 'crash: no network'])
})
