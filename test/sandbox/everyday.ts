// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are lines of a shell, not templates
/** A line as people and models write it every day, run in the project of `project.ts`. */
export interface EverydayLine {
  readonly group: EverydayGroup
  readonly line: string
  /** Programs without which it cannot be tried. */
  readonly needs?: readonly string[]
  /** It changes the project, so the next line gets another one. */
  readonly isWriting?: true
  /** What it shows depends on the home: it runs with that of the project. */
  readonly readsHome?: true
  /** It is judged and never run: it would leave this machine. */
  readonly isJudgedOnly?: true
  /**
   * It may run without a question and without a sandbox: literal words, one known program of the machine that only
   * reads, no glob, no git.
   */
  readonly isStrict?: true
  /** Why its result is another one in a sandbox, and rightly so. */
  readonly differs?: { readonly 'read-only'?: string; readonly 'workspace-write'?: string }
}

export type EverydayGroup =
  | 'git that reads'
  | 'looking'
  | 'building and testing'
  | 'git that writes'
  | 'own servers and processes'
  | 'beyond this machine'

type Entry = string | Omit<EverydayLine, 'group'>

const writes = (line: string, more: Partial<EverydayLine> = {}): Entry => ({
  line,
  isWriting: true,
  differs: { 'read-only': 'it writes to the workspace' },
  ...more,
})
const strict = (...lines: string[]): Entry[] => lines.map((line) => ({ line, isStrict: true }))
const away = (line: string): Entry => ({ line, isJudgedOnly: true })
const inBoth = (why: string) => ({ 'read-only': why, 'workspace-write': why })

const groups: Readonly<Record<EverydayGroup, readonly Entry[]>> = {
  'git that reads': [
    'git status',
    'git status --short',
    'git status -sb',
    'git log',
    'git log --oneline -5',
    'git log --stat',
    'git log -p -1',
    'git log --graph --oneline --all',
    'git log --format=%h%x09%s -- src',
    'git diff',
    'git diff --stat',
    'git diff --cached',
    'git diff HEAD~1',
    'git diff --name-only HEAD~1 HEAD',
    'git show',
    'git show --stat HEAD',
    'git show HEAD:./README.md',
    'git branch',
    'git branch -a',
    'git branch --show-current',
    'git tag',
    'git remote -v',
    'git rev-parse HEAD',
    'git rev-parse --show-toplevel',
    'git ls-files',
    'git ls-tree -r --name-only HEAD',
    'git blame src/main.ts',
    'git grep -n greet',
    'git describe --tags --always',
    'git stash list',
    'git reflog',
    {
      line: 'git config --list',
      readsHome: true,
      differs: inBoth('the home and its configuration are not there'),
    },
  ],
  looking: [
    ...strict('ls', 'ls -l src', 'ls src test', 'cat README.md', 'cat package.json src/main.ts', 'head -n 3 README.md'),
    ...strict('tail -n 2 data.csv', 'wc -l src/main.ts', 'pwd', 'echo hello', 'grep -n greet src/main.ts'),
    ...strict('sort data.csv', 'uniq data.csv', 'cut -d, -f1 data.csv', 'stat -c %s README.md', 'du -b README.md'),
    ...strict('basename src/main.ts .ts', 'dirname src/main.ts', 'sha256sum README.md', 'date +%Y', 'uname -s'),
    ...strict('nl README.md', 'tac data.csv', 'test -f package.json', 'realpath src', 'file README.md', 'true'),
    ...strict('diff data.csv data.csv', 'md5sum data.csv', 'seq 3', 'printf "%s\\n" one two', 'whoami'),
    'wc -l src/*',
    'ls src | wc -l',
    'cd src && ls',
    'grep -rn greet src',
    "find . -name '*.ts' -not -path './node_modules/*' | sort",
    'find src -type f | sort',
    { line: 'rg greet src --no-heading --sort path', needs: ['rg'] },
    { line: 'rg --files src --sort path', needs: ['rg'] },
    'sed -n 1,3p src/main.ts',
    "sed 's/hello/bye/' README.md",
    "awk -F, '{ print $2 }' data.csv",
    "awk 'END { print NR }' data.csv",
    { line: 'jq .name package.json', needs: ['jq'] },
    { line: "jq -r '.scripts | keys[]' package.json", needs: ['jq'] },
    { line: "node -e 'console.log(1 + 1)'", needs: ['node'] },
    { line: 'node -p \'require("./package.json").version\'', needs: ['node'] },
    { line: 'node --version', needs: ['node'] },
    { line: "python3 -c 'print(1 + 1)'", needs: ['python3'] },
    { line: 'python3 -m json.tool package.json', needs: ['python3'] },
    { line: "perl -ne 'print if /greet/' src/main.ts", needs: ['perl'] },
    'for f in src/*; do echo "$f"; done',
    'cat data.csv | tr a-z A-Z | sort -u | head -n 2',
    { line: 'ps -e -o comm=', needs: ['ps'], differs: inBoth('other processes are not there') },
  ],
  'building and testing': [
    { line: 'npm --version', needs: ['npm'] },
    { line: 'npm run --silent hello', needs: ['npm'] },
    { line: 'npm test --silent', needs: ['npm', 'node'] },
    writes('npm run --silent build', { needs: ['npm'] }),
    { line: 'npm ls --depth=0', needs: ['npm'] },
    { line: 'npm pack --dry-run --silent', needs: ['npm'] },
    { line: 'node_modules/.bin/tsc --noEmit', needs: ['node'] },
    { line: 'npx --no-install tsc --version', needs: ['npx'] },
    { line: 'node --test --test-reporter=dot test/main.test.mjs', needs: ['node'] },
    { line: 'pytest -q --no-header --tb=no | head -n 1', needs: ['pytest'] },
    { line: 'python3 -m pytest -q test_app.py > /dev/null && echo passed', needs: ['pytest', 'python3'] },
    { line: 'python3 -m unittest -q test_app 2> /dev/null && echo passed', needs: ['python3'] },
    { line: 'python3 app.py', needs: ['python3'] },
    { line: 'cargo --version', needs: ['cargo'] },
    { line: 'cargo check --offline --quiet', needs: ['cargo'], isWriting: true },
    { line: 'cargo run --offline --quiet', needs: ['cargo'], isWriting: true },
    { line: 'cargo metadata --offline --no-deps --format-version 1 | head -c 20', needs: ['cargo'] },
    { line: 'make -n', needs: ['make'] },
    writes('make', { needs: ['make', 'gcc'] }),
    { line: 'gcc -fsyntax-only hello.c', needs: ['gcc'] },
    writes('gcc -o hello hello.c && ./hello', { needs: ['gcc'] }),
    { line: 'gcc -o /tmp/hello hello.c && /tmp/hello; rm -f /tmp/hello', needs: ['gcc'] },
  ],
  'git that writes': [
    writes('git add -A && git status --short'),
    writes('git commit -qam more && git log --format=%s -1'),
    writes('git checkout -qb topic && git branch --show-current'),
    writes('git stash -q && git status --short'),
    writes('git tag v2 && git tag'),
  ],
  'own servers and processes': [
    {
      line: `node -e 'const s = http.createServer((q, r) => r.end("hello")).listen(0, "127.0.0.1", async () => { console.log(await (await fetch("http://127.0.0.1:" + s.address().port)).text()); s.close(); s.closeAllConnections() })'`,
      needs: ['node'],
    },
    {
      line: `python3 -c 'import socket, threading
s = socket.create_server(("127.0.0.1", 0)); threading.Thread(target=lambda: s.accept()[0].send(b"hello")).start()
print(socket.create_connection(s.getsockname()).recv(9))'`,
      needs: ['python3'],
    },
    '(sleep 0.05; echo second) & echo first; wait',
    {
      line: `python3 -c 'import os; p = os.fork(); p or os._exit(3); print(os.waitstatus_to_exitcode(os.wait()[1]))'`,
      needs: ['python3'],
    },
    {
      line: `node -e 'const s = net.createServer().listen("/tmp/everyday-" + process.pid, () => { console.log("listening"); s.close() })'`,
      needs: ['node'],
      differs: inBoth('there are no sockets with a path'),
    },
    {
      line: 'curl -s http://127.0.0.1:@PORT/',
      needs: ['curl'],
      differs: inBoth('servers of this machine are not there'),
    },
  ],
  'beyond this machine': [
    away('git fetch'),
    away('git pull --rebase'),
    away('git push origin main'),
    away('npm install'),
    away('npm view typescript version'),
    away('pip install requests'),
    away('curl -s https://example.org/'),
    away('docker ps'),
    away('gh pr list'),
  ],
}

export const everydayLines: readonly EverydayLine[] = Object.entries(groups).flatMap(([group, entries]) =>
  entries.map((entry) => ({
    group: group as EverydayGroup,
    ...(typeof entry === 'string' ? { line: entry } : entry),
  })),
)
