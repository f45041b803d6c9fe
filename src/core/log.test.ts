import { expect, test } from 'vitest'
import { type InboxItem, Log } from './log.ts'

const item: InboxItem = { clientKey: 'k', mode: 'followUp', content: [{ type: 'text', text: 'Hi.' }] }

test('a message that is accepted twice at once is looked up once and logged once', async () => {
  let lookups = 0
  const answer = Promise.withResolvers<boolean>()
  const log = new Log({
    commit: async () => {},
    isLogged: () => {
      lookups++
      return answer.promise
    },
  })
  log.transcript.olderKeys = { mayHave: () => true }
  const both = [log.accept(item), log.accept(item)]
  answer.resolve(false)
  await Promise.all(both)
  expect([lookups, log.transcript.inbox.length]).toEqual([1, 1])
})

test('if that lookup fails, both calls reject, and nothing else does', async () => {
  const log = new Log({ commit: async () => {}, isLogged: () => Promise.reject(new Error('store away')) })
  log.transcript.olderKeys = { mayHave: () => true }
  const both = await Promise.allSettled([log.accept(item), log.accept(item)])
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
})
