import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { IndexConnection } from './index-connection.ts'

const dir = fs.mkdtempSync(join(tmpdir(), 'libero-index-connection-'))
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }))

test('a bug in the work with the index is an error, and the index stays in use', async () => {
  const connection = new IndexConnection(dir, () => 'store')
  const bug = new TypeError('a bug')
  const failing = connection.use(() => {
    throw bug
  })
  await expect(failing).rejects.toBe(bug)
  expect(await connection.use((database) => database.isSound())).toBe(true)
  await connection.close()
})

test('a failure of SQLite or of the file system means that there is no index', async () => {
  for (const sql of ['SELECT 1 FROM nothing', undefined]) {
    const connection = new IndexConnection(dir, () => 'store')
    const failing = connection.use((database) =>
      sql ? database.statement(sql) : fs.readFileSync(join(dir, 'missing')),
    )
    expect(await failing).toBeUndefined()
    await connection.close()
  }
})
