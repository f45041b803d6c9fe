import { expect, test } from 'vitest'
import { exitCodes } from '../exit-codes.ts'
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
    say: (text) => void told.push(`! ${text}`),
    ...more,
  })
  return { code, told, left }
}

test('tasks follow each other until there are no more; an empty one is none', async () => {
  expect(await talk(['one', ' ', 'two'])).toEqual({ code: 0, told: ['one', 'two'], left: [] })
  expect(await talk([])).toEqual({ code: 0, told: [], left: [] })
})

test('going on comes first, without a task', async () => {
  expect((await talk(['one'], { isGoingOn: true })).told).toEqual([undefined, 'one'])
})

test('exit and its likes are no tasks', async () => {
  for (const word of ['exit', '/exit', 'quit', ' /quit ', ':q'])
    expect(await talk(['one', word, 'two'])).toEqual({ code: 0, told: ['one'], left: ['two'] })
  expect((await talk(['exit code of make?'])).told).toEqual(['exit code of make?'])
})

test('what fails is said and the next task is asked for; what ends the process ends it', async () => {
  const told: string[] = []
  const run = async (task: string | undefined) => {
    if (task === 'bad') throw new Error('no network')
    return task === 'end' ? exitCodes.terminated : exitCodes.budget
  }
  const { code, left } = await talk(['bad', 'fine', 'end', 'never'], { run, say: (text) => void told.push(text) })
  expect({ code, left, told }).toEqual({ code: exitCodes.terminated, left: ['never'], told: ['no network'] })
})
