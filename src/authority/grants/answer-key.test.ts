import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { PrivateFileError } from '../private-file.ts'
import { answerKeyFromSecret, openAnswerKey, type SignedAnswer } from './answer-key.ts'

const answer: SignedAnswer = { sessionId: 's-1', callId: 'c-1', digest: 'd-1', decision: 'allow', by: 'ada' }
const key = answerKeyFromSecret(new Uint8Array(32).fill(7))

let folder: string
let path: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'libero-answer-key-'))
  path = join(folder, 'home', 'approval.key')
})

afterEach(() => rm(folder, { recursive: true, force: true }))

test('a signed answer is verified, in any order of its fields', () => {
  const mac = key.sign(answer)
  expect(mac).toMatch(/^[0-9a-f]{64}$/)
  expect(key.verify(answer, mac)).toBe(true)
  expect(key.verify(Object.fromEntries(Object.entries(answer).reverse()) as never, mac)).toBe(true)
  const wider = { ...answer, scope: 'session' }
  expect(key.verify(wider, key.sign(wider))).toBe(true)
})

test.each(Object.keys(answer))('PI-09 an answer that is sent again with another %s does not count', (field) => {
  const mac = key.sign(answer)
  expect(key.verify({ ...answer, [field]: field === 'decision' ? 'deny' : 'other' }, mac)).toBe(false)
  expect(key.verify({ ...answer, [field]: undefined }, mac)).toBe(false)
  expect(key.verify({ ...answer, [field]: [answer[field as keyof SignedAnswer]] }, mac)).toBe(false)
})

test('PI-09 an answer for once is not stored', () => {
  expect(key.verify({ ...answer, scope: 'always' }, key.sign(answer))).toBe(false)
  expect(key.verify(answer, key.sign({ ...answer, scope: 'once' }))).toBe(false)
})

test('text cannot be moved from one field to the next', () => {
  const mac = key.sign({ ...answer, sessionId: 'a","b', callId: 'c' })
  expect(key.verify({ ...answer, sessionId: 'a', callId: 'b","c' }, mac)).toBe(false)
})

test.each([undefined, '', 'no', '0'.repeat(64), 7, null, {}])(
  'a forged entry with the mac %j does not count',
  (mac) => {
    expect(key.verify(answer, mac as string)).toBe(false)
  },
)

test('two signatures of one answer differ, and both count', () => {
  const [one, other] = [key.sign(answer), key.sign(answer)]
  expect(one).not.toBe(other)
  expect([key.verify(answer, one), key.verify(answer, other)]).toEqual([true, true])
  expect(key.verify(answer, one.slice(0, 16) + other.slice(16))).toBe(false)
})

test('an invalid answer is not signed', () => {
  expect(() => key.sign({ ...answer, by: undefined as never })).toThrow(TypeError)
  expect(() => key.sign({ ...answer, decision: 'expired' as never })).toThrow(TypeError)
  expect(key.verify(undefined as never, key.sign(answer))).toBe(false)
})

test('machines with the same secret verify each other’s answers; a short or missing secret is refused', () => {
  const secret = crypto.getRandomValues(new Uint8Array(48))
  const mac = answerKeyFromSecret(secret).sign(answer)
  expect(answerKeyFromSecret(Uint8Array.from(secret)).verify(answer, mac)).toBe(true)
  expect(key.verify(answer, mac)).toBe(false)
  expect(() => answerKeyFromSecret(secret.subarray(0, 31))).toThrow(/at least 32/)
  expect(() => answerKeyFromSecret('x'.repeat(64) as never)).toThrow(/at least 32/)
})

test('a key does not show its secret, nor change with the bytes it was made of', () => {
  const secret = new Uint8Array(32).fill(7)
  const made = answerKeyFromSecret(secret)
  secret.fill(0)
  expect([made.id, key.verify(answer, made.sign(answer))]).toEqual([key.id, true])
  expect(inspect(made, { showHidden: true, depth: 9 })).not.toMatch(/07|Uint8Array|Buffer/)
})

test('the key of a user is made once, for its owner alone, and stays', async () => {
  const mac = (await openAnswerKey(join(folder, 'home'))).sign(answer)
  expect((await openAnswerKey(join(folder, 'home'))).verify(answer, mac)).toBe(true)
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect((await stat(join(folder, 'home'))).mode & 0o777).toBe(0o700)
  expect(await readdir(join(folder, 'home'))).toEqual(['approval.key'])
  expect((await openAnswerKey(join(folder, 'other'))).verify(answer, mac)).toBe(false)
})

test('concurrent callers get the same key', async () => {
  const keys = await Promise.all(Array.from({ length: 10 }, () => openAnswerKey(join(folder, 'home'))))
  const mac = keys[0]!.sign(answer)
  expect(keys.every((one) => one.verify(answer, mac))).toBe(true)
})

test.each(['', 'short', 'z'.repeat(64)])('a broken key is refused and not replaced: %j', async (text) => {
  await openAnswerKey(join(folder, 'home'))
  await writeFile(path, text)
  await expect(openAnswerKey(join(folder, 'home'))).rejects.toThrow(PrivateFileError)
  expect(await readFile(path, 'utf8')).toBe(text)
})

test('a key that is open to others or a link is refused', async () => {
  await openAnswerKey(join(folder, 'home'))
  await chmod(path, 0o640)
  await expect(openAnswerKey(join(folder, 'home'))).rejects.toThrow(/chmod 600/)
  await rm(path)
  await symlink(join(folder, 'missing'), path)
  await expect(openAnswerKey(join(folder, 'home'))).rejects.toThrow(/is a link/)
})
