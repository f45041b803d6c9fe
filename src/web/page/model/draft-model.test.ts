import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createDraftModel } from './draft-model.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function kit({ server = '', kept, answer }: { server?: string; kept?: string; answer?: Promise<void> } = {}) {
  const storage = new Map<string, string>(kept === undefined ? [] : [['k', kept]])
  const saved: string[] = []
  let isDown = false
  const make = () =>
    createDraftModel({
      key: 'k',
      load: async () => ({ text: saved.at(-1) ?? server, version: saved.length + 1 }),
      save: async (text) => {
        await (saved.length === 0 && answer)
        if (isDown) throw new Error('no connection')
        saved.push(text)
        return saved.length + 1
      },
      storage: {
        getItem: (key) => storage.get(key) ?? null,
        setItem: (key, value) => void storage.set(key, value),
        removeItem: (key) => void storage.delete(key),
      },
    })
  return { make, storage, saved, setDown: (down: boolean) => void (isDown = down) }
}

test('WB70 what is written is on the server within half a second, in one request however fast a person writes', async () => {
  const { make, saved, storage } = kit()
  const draft = make()
  await draft.start()
  for (const text of ['H', 'He', 'Hel', 'Hello']) draft.write(text)
  expect(storage.get('k')).toBe('Hello')
  await vi.advanceTimersByTimeAsync(500)
  expect(saved).toEqual(['Hello'])
  expect([storage.get('k'), draft.state.isSaved]).toEqual([undefined, true])
})

test('WB70 what the server could not take is kept by the browser, survives a reload and is sent when it can be', async () => {
  const { make, saved, setDown } = kit({ server: 'old' })
  setDown(true)
  const draft = make()
  await draft.start()
  draft.write('new')
  await vi.advanceTimersByTimeAsync(1000)
  expect([saved, draft.state.isSaved]).toEqual([[], false])
  const again = make()
  await again.start()
  expect(again.state.text).toBe('new')
  setDown(false)
  await vi.advanceTimersByTimeAsync(5000)
  expect([saved.at(-1), again.state.isSaved]).toEqual(['new', true])
})

test('WB70 a screen that goes saves once more and no later; what could not be saved is left to the next screen', async () => {
  const { make, saved, storage, setDown } = kit()
  setDown(true)
  const old = make()
  old.write('old')
  await vi.advanceTimersByTimeAsync(1000)
  await old.stop()
  const next = make()
  await next.start()
  next.write('newer')
  setDown(false)
  await vi.advanceTimersByTimeAsync(10_000)
  expect([saved, storage.size]).toEqual([['newer'], 0])
})

test('WB70 a save of the screen before, which takes long, comes before that of this one and deletes nothing of it', async () => {
  const { promise: answer, resolve } = Promise.withResolvers<void>()
  const { make, saved, storage } = kit({ answer })
  const old = make()
  old.write('old')
  const stopped = old.stop()
  const next = make()
  next.write('newer')
  await vi.advanceTimersByTimeAsync(1000)
  expect(saved).toEqual([])
  expect(storage.get('k')).toBe('newer')
  resolve()
  await stopped
  expect(storage.get('k')).toBe('newer')
  await next.flush()
  expect([saved, storage.size]).toEqual([['old', 'newer'], 0])
})

test('WB70 what another tab wrote is shown, but never in the place of what is just being written', async () => {
  const { make } = kit({ server: 'from before' })
  const draft = make()
  await draft.start()
  expect(draft.state).toMatchObject({ text: 'from before', isFromElsewhere: true })
  draft.hear({ text: 'from the phone', version: 2 })
  expect(draft.state.text).toBe('from the phone')
  draft.hear({ text: 'older', version: 1 })
  draft.write('mine')
  draft.hear({ text: 'theirs', version: 3 })
  expect(draft.state.text).toBe('mine')
})

test('WB70 a draft that another device has changed since stands before that of this browser: neither is lost', async () => {
  const { make, saved, setDown } = kit({ server: 'from before' })
  const draft = make()
  await draft.start()
  setDown(true)
  draft.write('written here')
  await draft.stop()
  saved.push('from the phone')
  setDown(false)
  const again = make()
  await again.start()
  expect(again.state).toMatchObject({ text: 'from the phone\nwritten here', isSaved: true })
  expect(saved.at(-1)).toBe('from the phone\nwritten here')
  // Before the server was read, nothing takes the place of what it has.
  const third = make()
  third.write('At once')
  await third.flush()
  expect(saved.at(-1)).toBe('from the phone\nwritten here\nAt once')
})

test('WB70 after a new connection the draft is read again, also from a server that was started since', async () => {
  let server = { text: 'old', version: 7 }
  const draft = createDraftModel({
    key: 'k',
    load: async () => server,
    save: async () => 1,
    storage: { getItem: () => null, setItem() {}, removeItem() {} },
  })
  await draft.start()
  server = { text: 'changed meanwhile', version: 0 }
  await draft.read()
  expect(draft.state.text).toBe('changed meanwhile')
})

test('WB70 a text from before the server was started, which has version 0, is shown', async () => {
  const draft = createDraftModel({
    key: 'k',
    load: async () => ({ text: 'from before', version: 0 }),
    save: async () => 1,
    storage: { getItem: () => null, setItem() {}, removeItem() {} },
  })
  await draft.start()
  expect(draft.state.text).toBe('from before')
})
