/**
 * The files that a program reads by itself and that decide what it does, relative to its directory. `operands` are the
 * words after the program that are no flags.
 */
export function filesProgramReads(program: string, operands: readonly string[]): string[] {
  const name = program.slice(program.lastIndexOf('/') + 1).replace(/(?<=[a-z])[\d.]+$/, '')
  const own = configFiles.get(name) ?? (javascriptTools.has(name) ? toolConfigs(name) : [])
  return [...own, ...operands.slice(0, mostOperands).flatMap((operand) => besides.get(name)?.(operand) ?? [])]
}

const mostOperands = 50

const packages = ['package.json', '.npmrc']
const makefiles = ['GNUmakefile', 'makefile', 'Makefile']
const pytest = ['conftest.py', 'pytest.ini', 'pyproject.toml', 'tox.ini', 'setup.cfg']
const compose = ['compose.yaml', 'compose.yml', 'docker-compose.yaml', 'docker-compose.yml', 'Dockerfile']
const gradle = ['build.gradle', 'build.gradle.kts', 'settings.gradle', 'settings.gradle.kts']
const just = ['justfile', '.justfile', 'Justfile']

const configFiles: ReadonlyMap<string, readonly string[]> = new Map([
  ['npm', packages],
  ['npx', packages],
  ['pnpm', [...packages, '.pnpmfile.cjs']],
  ['yarn', [...packages, '.yarnrc.yml', '.pnp.cjs']],
  ['bun', [...packages, 'bunfig.toml']],
  ['node', ['package.json']],
  ['deno', ['deno.json', 'deno.jsonc', 'package.json']],
  ['make', makefiles],
  ['gmake', makefiles],
  ['pytest', pytest],
  ['py.test', pytest],
  ['python', pytest],
  ['tox', ['tox.ini', 'pyproject.toml', 'setup.py']],
  ['nox', ['noxfile.py']],
  ['pip', ['setup.py', 'pyproject.toml', 'requirements.txt']],
  ['poetry', ['pyproject.toml']],
  ['uv', ['pyproject.toml', 'uv.toml']],
  ['cargo', ['Cargo.toml', 'build.rs', '.cargo/config.toml']],
  ['go', ['go.mod']],
  ['gradle', gradle],
  ['gradlew', [...gradle, 'gradle/wrapper/gradle-wrapper.properties']],
  ['mvn', ['pom.xml', '.mvn/jvm.config', '.mvn/maven.config']],
  ['mvnw', ['pom.xml', '.mvn/wrapper/maven-wrapper.properties']],
  ['rake', ['Rakefile', 'rakefile', 'Rakefile.rb']],
  ['bundle', ['Gemfile', '.bundle/config']],
  ['rspec', ['.rspec', 'spec/spec_helper.rb']],
  ['composer', ['composer.json']],
  ['just', just],
  ['task', ['Taskfile.yml', 'Taskfile.yaml']],
  ['cmake', ['CMakeLists.txt', 'CMakePresets.json']],
  ['ninja', ['build.ninja']],
  ['meson', ['meson.build']],
  ['docker', compose],
  ['docker-compose', compose],
  ['podman', compose],
  ['pre-commit', ['.pre-commit-config.yaml']],
  ['tsc', ['tsconfig.json', 'package.json']],
])

const javascriptTools: ReadonlySet<string> = new Set(
  'vitest jest mocha ava eslint prettier webpack vite rollup rolldown esbuild playwright cypress tsx ts-node nx turbo'.split(
    ' ',
  ),
)

function toolConfigs(name: string): string[] {
  const endings = ['js', 'cjs', 'mjs', 'ts', 'json']
  const runControl = ['', '.js', '.cjs', '.json', '.yml'].map((ending) => `.${name}rc${ending}`)
  return [
    'package.json',
    'vite.config.ts',
    'vite.config.js',
    ...endings.map((ending) => `${name}.config.${ending}`),
    ...runControl,
  ]
}

/** What the programs look for beside the path of an operand. */
const besides: ReadonlyMap<string, (operand: string) => string[]> = new Map([
  ['node', modulesOf],
  ['bun', modulesOf],
  ['tsx', modulesOf],
  ['deno', modulesOf],
  ['python', pythonModulesOf],
  ['pytest', conftestsOf],
  ['py.test', conftestsOf],
  ['make', (folder) => makefiles.map((name) => `${folder}/${name}`)],
  ['gmake', (folder) => makefiles.map((name) => `${folder}/${name}`)],
  ['npm', (folder) => [`${folder}/package.json`]],
  ['pnpm', (folder) => [`${folder}/package.json`]],
  ['yarn', (folder) => [`${folder}/package.json`]],
  ['npx', (name) => [`node_modules/.bin/${name}`]],
  ['docker', (folder) => [`${folder}/Dockerfile`]],
])

/** What the name of a module or folder may mean to Node. */
export function modulesOf(path: string): string[] {
  return ['.js', '.mjs', '.cjs', '.ts', '/index.js', '/index.ts', '/package.json'].map((ending) => `${path}${ending}`)
}

/** What the name of a module or folder may mean to Python. */
export function pythonModulesOf(name: string): string[] {
  const path = name.includes('/') ? name : name.replaceAll('.', '/')
  return [`${path}.py`, `${path}/__init__.py`, `${path}/__main__.py`]
}

/** Pytest runs the file of every folder on the way to a test. */
function conftestsOf(operand: string): string[] {
  const parts = (operand.split('::')[0] ?? '').split('/')
  return parts.map((_, n) => `${parts.slice(0, n + 1).join('/')}/conftest.py`)
}
