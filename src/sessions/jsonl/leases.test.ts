import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test } from 'vitest'
import { onFailpoint } from '../../core/log.ts'
import { hour, lease, write } from '../../testing/store-contract-kit.ts'
import { createJsonlStore } from '../jsonl-store.ts'

const dir = fs.mkdtempSync(join(tmpdir(), 'libero-leases-'))
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }))
afterEach(() => onFailpoint(undefined))

test('ST18 the death of the last process is told also if the session becomes a child while it is taken', async () => {
  const store = createJsonlStore({ dir, sync: false })
  await write(store, 's', 1)
  const path = join(dir, 's/lease.json')
  const given = JSON.parse(fs.readFileSync(path, 'utf8')) as { process: object }
  const dead = { ...given, expires: Date.now() + hour, opener: 'x', process: { ...given.process, started: '1' } }
  fs.writeFileSync(path, JSON.stringify(dead))
  onFailpoint((name) => {
    if (name === 'jsonl.lease.beforeRename')
      fs.writeFileSync(join(dir, 's/meta.json'), JSON.stringify({ id: 's', parent: 'p', made: 'once' }))
  })
  expect((await lease(store, 's', 'bob')).died).toMatchObject({ sessions: 1 })
  await store.close?.()
})
