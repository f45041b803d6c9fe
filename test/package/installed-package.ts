import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, realpath, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** The package as `npm install libero` would leave it in a project: built, packed, unpacked beside what it depends on. */
export interface InstalledPackage {
  /** A scratch folder for everything. */
  readonly folder: string
  /** A project with `node_modules/libero` and nothing else of its own. */
  readonly project: string
  /** The tarball itself. */
  readonly tarball: string
  /** Every file in the tarball. */
  readonly files: readonly string[]
}

/** Builds into `dist/` of the checkout, packs that and installs it. `npm test` has checked the types before. */
export async function installPackage(): Promise<InstalledPackage> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'libero-package-')))
  const built = await run(root, process.execPath, 'scripts/build.ts', '--checked')
  if (built.code !== 0 || built.output !== '') throw new Error(`the build failed: ${built.output}`)
  const [packed] = Object.values(JSON.parse(await pack(folder))) as { filename: string; files: { path: string }[] }[]
  const project = join(folder, 'project')
  const libero = join(project, 'node_modules/libero')
  await mkdir(libero, { recursive: true })
  await run(folder, 'tar', '-xzf', packed!.filename, '--strip-components=1', '-C', libero)
  await installDependencies(project)
  return { folder, project, tarball: join(folder, packed!.filename), files: packed!.files.map(({ path }) => path) }
}

async function pack(folder: string): Promise<string> {
  // The npm that comes with the node that runs this.
  const npm = process.env.npm_execpath ?? 'npm'
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]
  const [program, ...rest] = npm.endsWith('js') ? [process.execPath, npm, ...args] : [npm, ...args]
  const { code, stdout, output } = await run(root, program!, ...rest)
  if (code !== 0) throw new Error(`npm pack failed: ${output}`)
  return stdout
}

/** What npm installs with it: the packages that it needs, and the optional ones. Peers are the project's own affair. */
async function installDependencies(project: string): Promise<void> {
  const manifest = JSON.parse(await readFile(join(project, 'node_modules/libero/package.json'), 'utf8')) as Needs
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }))
    await linkPackage(name, project)
}

interface Needs {
  readonly dependencies?: Record<string, string>
  readonly optionalDependencies?: Record<string, string>
}

/** Installs a package of the checkout into another project. */
export async function linkPackage(name: string, project: string): Promise<void> {
  const link = join(project, 'node_modules', name)
  await mkdir(dirname(link), { recursive: true })
  await symlink(join(root, 'node_modules', name), link)
}

/** Copies a file of this folder into a project. */
export async function copyInto(project: string, name: string): Promise<string> {
  const copy = join(project, name)
  await cp(join(import.meta.dirname, name), copy)
  return copy
}

export interface Ran {
  readonly code: number
  readonly stdout: string
  /** Everything it printed. */
  readonly output: string
}

/** Runs a program as a user would: without what this process was started with. */
export function run(cwd: string, program: string, ...args: string[]): Promise<Ran> {
  const { NODE_OPTIONS: _, ...env } = process.env
  return new Promise((resolve) => {
    execFile(program, args, { cwd, env, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      const code = typeof error?.code === 'number' ? error.code : error ? -1 : 0
      resolve({ code, stdout, output: stdout + stderr })
    })
  })
}
