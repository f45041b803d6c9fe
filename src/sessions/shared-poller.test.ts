import { expect, test } from 'vitest'
import { fakeClock } from '../testing/fake-clock.ts'
import { type SessionStamp, SharedPoller } from './shared-poller.ts'

/** A poller of a store whose stamps the test sets. Notes each look and who is woken. */
function pollerOf(stamps: Map<string, SessionStamp>) {
  const clock = fakeClock()
  const looks: (readonly string[])[] = []
  const woken: string[] = []
  const poller = new SharedPoller({
    clock,
    everyMs: 200,
    async readStamps(ids) {
      looks.push(ids)
      return new Map(stamps)
    },
  })
  const add = (id: string, name: string, inboxOnly = false) =>
    poller.add(id, { wake: () => woken.push(name), inboxOnly })
  return { clock, looks, woken, poller, add }
}

test('ST15 a thousand idle watchers cost five looks a second together, and none when they are gone', async () => {
  const { clock, looks, woken, add } = pollerOf(new Map())
  const removals = Array.from({ length: 1000 }, (_, i) => add(`s${i}`, `w${i}`))
  await clock.advance(1000)
  expect(looks.map((ids) => ids.length)).toEqual([1000, 1000, 1000, 1000, 1000])
  expect(woken).toEqual([])
  for (const remove of removals) remove()
  expect(clock.pending).toBe(0)
  await clock.advance(1000)
  expect(looks).toHaveLength(5)
})

test('a look wakes the watchers of the sessions that changed, and those of the inbox only for messages', async () => {
  const stamps = new Map([
    ['a', { entries: '1', inbox: '' }],
    ['b', { entries: '1', inbox: '' }],
  ])
  const { clock, woken, add } = pollerOf(stamps)
  add('a', 'all of a')
  add('a', 'inbox of a', true)
  add('b', 'all of b')
  await clock.advance(200)
  woken.length = 0 // the first look cannot tell what changed
  await clock.advance(200)
  expect(woken).toEqual([])
  stamps.set('a', { entries: '2', inbox: '' })
  await clock.advance(200)
  expect(woken.splice(0)).toEqual(['all of a'])
  stamps.set('a', { entries: '2', inbox: '7' })
  stamps.set('c', { entries: '1', inbox: '' })
  await clock.advance(200)
  expect(woken.splice(0)).toEqual(['all of a', 'inbox of a'])
})

test('a watcher is woken by the next look after it came, for it may have missed what the last one saw', async () => {
  const { clock, woken, add } = pollerOf(new Map([['a', { entries: '1', inbox: '' }]]))
  add('a', 'first')
  await clock.advance(400)
  woken.length = 0
  add('a', 'second')
  await clock.advance(200)
  expect(woken).toEqual(['first', 'second'])
})

test('changes of the own store object wake at once, and a look that fails wakes all', async () => {
  const clock = fakeClock()
  const woken: string[] = []
  const poller = new SharedPoller({ clock, everyMs: 200, readStamps: () => Promise.reject(new Error('gone')) })
  const removals = [
    poller.add('a', { wake: () => woken.push('all of a'), inboxOnly: false }),
    poller.add('a', { wake: () => woken.push('inbox of a'), inboxOnly: true }),
    poller.add('b', { wake: () => woken.push('all of b'), inboxOnly: false }),
  ]
  poller.wake('a', 'entries')
  expect(woken.splice(0)).toEqual(['all of a'])
  poller.wake('a', 'inbox')
  expect(woken.splice(0)).toEqual(['all of a', 'inbox of a'])
  await clock.advance(200)
  expect(woken.splice(0)).toEqual(['all of a', 'inbox of a', 'all of b'])
  for (const remove of removals) remove()
  expect(clock.pending).toBe(0)
})
