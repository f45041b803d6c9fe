import { execFile } from 'node:child_process'
import { chmod, chown, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { nobodyCanRunNode } from '../../../test/as-nobody.ts'

const source = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href)
const program = `
  import { enterProject } from ${source('./enter-project.ts')}
  import { createTrustList } from ${source('./trust-list.ts')}
  const [base] = process.argv.slice(1)
  const list = createTrustList({ folder: base + '/config' })
  const interact = async () => ({ status: 'accepted', value: 'trust' })
  const { state, notice, items, dispose } = await enterProject(base + '/project', { list, interact })
  dispose()
  console.log(JSON.stringify([state, items.map(({ id }) => id), notice]))
`

// As root nothing is unreadable.
test.skipIf(!nobodyCanRunNode).each([
  ['.libero', ['AGENTS.md'], '.libero cannot be read and is left out.'],
  ['.libero/tools', ['AGENTS.md'], '.libero/tools cannot be read and is left out.'],
  ['AGENTS.md', ['.libero/tools/a.ts'], 'AGENTS.md is left out: it cannot be read (EACCES).'],
])('where %s is closed to us the rest is entered, and that is said', async (closed, ids, notice) => {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'libero-unreadable-')))
  onTestFinished(() => rm(base, { recursive: true, force: true }))
  await mkdir(join(base, 'project/.libero/tools'), { recursive: true })
  await writeFile(join(base, 'project/.libero/tools/a.ts'), '')
  await writeFile(join(base, 'project/AGENTS.md'), 'Be kind.')
  await chmod(join(base, 'project', closed), 0)
  await chown(base, 65534, 65534)
  const args = ['--conditions=libero-source', '--input-type=module', '--eval', program, base]
  const { stdout } = await promisify(execFile)(process.execPath, args, { uid: 65534, gid: 65534, cwd: '/' })
  expect(JSON.parse(stdout)).toEqual(['trusted', ids, notice])
})
