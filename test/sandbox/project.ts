import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, linkSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openListeners } from './listeners.ts'
import { scratchFolder } from './scene.ts'

/** A small project with a history, in which everyday lines run; always at the same path, so that results can be compared. */
export interface Project {
  readonly cwd: string
  /** The environment of the person. */
  readonly env: { readonly PATH: string }
  /** A home in which git is configured: that of the user who runs the tests may be empty. */
  readonly home: string
  fill(text: string): string
  /** Makes it as it was in the beginning. */
  reset(): void
  close(): Promise<void>
}

/** Where the workspace is: the top of its repository, a linked worktree of one, or a folder in one. */
export type ProjectPlace = 'repository' | 'worktree' | 'subfolder'

export async function createProject(place: ProjectPlace): Promise<Project> {
  const folder = scratchFolder('project-')
  const [original, now] = [join(folder, 'original'), join(folder, 'now')]
  const listeners = await openListeners({ id: `libero-${folder.slice(-6)}`, paths: [] })
  const cwd = join(now, places[place])
  make(now, place)
  cpSync(now, original, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true })
  addCompiler(cwd)
  const home = join(folder, 'home')
  write(join(home, '.gitconfig'), '[alias]\n\tst = status\n')
  const path = (process.env.PATH ?? '').split(delimiter).filter((one) => !one.includes('node_modules'))
  return {
    cwd,
    home,
    env: { PATH: path.join(delimiter) },
    fill: (text) => text.replaceAll('@PORT', String(listeners.port)),
    reset() {
      rmSync(now, { recursive: true, force: true })
      cpSync(original, now, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true })
      addCompiler(cwd)
    },
    async close() {
      await listeners.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const places: Readonly<Record<ProjectPlace, string>> = {
  repository: 'repository',
  worktree: 'tree',
  subfolder: 'repository/packages/app',
}

function make(folder: string, place: ProjectPlace): void {
  const repository = join(folder, 'repository')
  const cwd = place === 'subfolder' ? join(folder, places.subfolder) : repository
  mkdirSync(cwd, { recursive: true })
  const git = (...args: string[]): void => void execFileSync('git', args, { cwd: repository, env, stdio: 'ignore' })
  git('init', '-q', '-b', 'main', '.')
  // In the repository, because the home of a sandbox has no configuration.
  git('config', 'user.name', 'A Person')
  git('config', 'user.email', 'person@localhost')
  git('remote', 'add', 'origin', 'http://127.0.0.1:1/project.git')
  for (const [name, content] of Object.entries(files)) write(join(cwd, name), content)
  git('add', '-A')
  git('commit', '-qm', 'The first version')
  git('tag', 'v1')
  write(join(cwd, 'src/util.ts'), 'export const twice = (n: number): number => 2 * n\n')
  git('add', '-A')
  git('commit', '-qm', 'Something to double numbers')
  git('branch', 'feature')
  if (place === 'worktree') git('worktree', 'add', '-q', '-b', 'tree', join(folder, places.worktree))
  write(join(folder, places[place], 'data.csv'), `${files['data.csv']}plum,4\n`)
}

/** Times and persons of commits are fixed, so that their ids are. */
const env = {
  PATH: process.env.PATH,
  HOME: '/nonexistent',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z',
  GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z',
}

const files: Readonly<Record<string, string>> = {
  '.npmrc': 'save-exact=true\n',
  'README.md': '# A project\n\nIt says hello.\n',
  'package.json': `${JSON.stringify(
    {
      name: 'a-project',
      version: '1.2.3',
      scripts: { hello: 'echo hello', test: 'node --test --test-reporter=dot test/main.test.mjs', build: 'tsc -p .' },
    },
    null,
    2,
  )}\n`,
  'tsconfig.json':
    '{ "compilerOptions": { "outDir": "dist", "rootDir": "src", "strict": true, "types": [] }, "include": ["src"] }\n',
  '.gitignore': 'node_modules\ndist\ntarget\n__pycache__\n.pytest_cache\nhello\n',
  'src/main.ts': "export function greet(name: string): string {\n  return 'hello ' + name\n}\n",
  'src/main.rs': 'fn main() {\n    println!("hello");\n}\n',
  'test/main.test.mjs': "import { test } from 'node:test'\ntest('adds', () => {})\n",
  'data.csv': 'apple,1\npear,2\npear,2\n',
  Makefile: 'hello: hello.c\n\tgcc -o hello hello.c\n',
  'hello.c': '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n',
  'app.py': 'def greet():\n    return "hello"\n\n\nif __name__ == "__main__":\n    print(greet())\n',
  'test_app.py':
    'import unittest\nfrom app import greet\n\n\nclass Test(unittest.TestCase):\n    def test_greet(self):\n        self.assertEqual(greet(), "hello")\n',
  'Cargo.toml': '[package]\nname = "a-project"\nversion = "1.2.3"\nedition = "2021"\n',
  'Cargo.lock':
    '# This file is automatically @generated by Cargo.\n# It is not intended for manual editing.\nversion = 4\n\n[[package]]\nname = "a-project"\nversion = "1.2.3"\n',
}

function write(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

/** The compiler of this checkout, as the project's own. */
function addCompiler(cwd: string): void {
  const from = fileURLToPath(new URL('../../node_modules/', import.meta.url))
  const native = existsSync(join(from, '@typescript')) ? readdirSync(join(from, '@typescript')) : []
  for (const name of ['typescript', ...native.map((one) => `@typescript/${one}`)])
    copyByLinks(join(from, name), join(cwd, 'node_modules', name))
  mkdirSync(join(cwd, 'node_modules/.bin'), { recursive: true })
  symlinkSync('../typescript/bin/tsc', join(cwd, 'node_modules/.bin/tsc'))
}

function copyByLinks(from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) copyByLinks(source, target)
    else
      try {
        linkSync(source, target)
      } catch {
        cpSync(source, target) // on another file system
      }
  }
}
