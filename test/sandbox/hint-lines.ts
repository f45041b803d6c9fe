// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are lines of a shell, not templates
import type { SandboxProfile } from '../../src/core/execution.ts'

/** A line that fails. `{home}`, `{outside}` and `{port}` stand for a home folder, a folder outside and a server of this machine. */
export interface FailingLine {
  readonly line: string
  readonly profile: SandboxProfile
}

const readOnly = (...lines: string[]): FailingLine[] => lines.map((line) => ({ line, profile: 'read-only' }))
const workspaceWrite = (...lines: string[]): FailingLine[] =>
  lines.map((line) => ({ line, profile: 'workspace-write' }))

/** Lines that the sandbox stops. `.env` is hidden. */
export const stoppedLines: readonly FailingLine[] = [
  ...readOnly('touch new.txt', 'echo x > out.txt', 'mkdir build', 'rm file.txt', 'mv file.txt other.txt'),
  ...readOnly(
    'cp file.txt copy.txt',
    'sed -i s/a/b/ file.txt',
    'git add -A',
    'git commit -qm x',
    'git checkout -qb other',
  ),
  ...readOnly('git checkout -q nope', 'npm version patch', `python3 -c "open('x.txt', 'w')"`, 'tee log.txt < file.txt'),
  ...readOnly(`node -e "fs.writeFileSync('x.txt', '')"`, 'gcc -o main main.c', 'tar cf a.tar file.txt'),
  ...readOnly(
    'ln -s file.txt link',
    'chmod 700 file.txt',
    'dd if=/dev/zero of=zeros bs=1 count=1',
    'ln file.txt b.txt',
  ),
  ...readOnly(
    'cat ~/.ssh/id_rsa',
    'ls ~/projects',
    'cat {outside}/file.txt',
    'cd {outside} && ls',
    'grep -r x {outside}',
  ),
  ...readOnly(`python3 -c "open('{home}/notes.txt')"`, `node -e "fs.readFileSync('{outside}/file.txt')"`, 'cat .env'),
  ...readOnly(
    'source ~/.profile',
    'cat /var/log/syslog',
    `node -e "fs.readFileSync('.env')"`,
    'wc -l /tmp/earlier.txt',
  ),
  ...readOnly(
    'curl -sS https://host.invalid',
    'wget -q https://host.invalid || wget https://host.invalid',
    'npm view react --fetch-retries=0',
  ),
  ...readOnly('ssh -o BatchMode=yes git@host.invalid', 'psql -h db.invalid -c "select 1"'),
  ...readOnly(
    `python3 -c "import urllib.request as u; u.urlopen('https://host.invalid')"`,
    'curl -sS localhost:{port}',
  ),
  ...readOnly(`node -e "fetch('https://host.invalid').catch((e) => { throw e.cause })"`, 'git -C {outside} log'),
  ...readOnly('cp {outside}/file.txt /tmp/x', 'ls -l ../other', 'tail -n 3 ~/notes.txt', 'jq . {outside}/file.txt'),
  ...readOnly(`node -e "require('net').createServer().listen('/tmp/x.sock')"`),
  ...workspaceWrite(
    'git config user.name x',
    'echo x > .npmrc',
    'echo x > .git/hooks/pre-commit',
    'mkdir -p .vscode/x',
  ),
  ...workspaceWrite('mv .git/config x', 'touch {outside}/new.txt', 'echo x > /usr/local/x', 'rm -rf .git/hooks'),
  ...workspaceWrite('echo x > .git/config', 'cp file.txt .gitmodules/x', 'curl -sS https://host.invalid'),
]

/** Lines that fail by themselves. */
export const otherLines: readonly FailingLine[] = [
  ...readOnly('false', 'exit 3', 'cat missing.txt', 'cat sandbox/none.txt', 'ls read-only', 'node missing.js'),
  ...readOnly(
    `node -e "require('./nope')"`,
    `node -e "require('left-pad')"`,
    'npm run nope',
    'npm test',
    'python3 missing.py',
  ),
  ...readOnly(
    'python3 -c "import nope"',
    'python3 -c "1/0"',
    'gcc -fsyntax-only broken.c',
    'make nope',
    'grep nothing file.txt',
  ),
  ...readOnly(
    'test -f nope',
    'git cat-file -p nope',
    'git show nope',
    'git log nope',
    'git diff --nope',
    'no-such-program',
  ),
  ...readOnly('./file.txt', 'bash nope.sh', 'cd nope', 'jq . broken.json', 'tar xf nope.tar', 'diff file.txt main.c'),
  ...readOnly(
    'sed -n 1p nope',
    "awk '{'",
    'if',
    `node -e "throw new Error('sandbox: permission problem')"`,
    'cat < nope.txt',
  ),
  ...readOnly(
    "echo 'Read-only file system'; false",
    "echo 'Network is unreachable'; false",
    'echo permission denied; exit 1',
  ),
  ...readOnly('cat build.log; false', `python3 -c "assert 1 == 2, '/etc/passwd'"`, 'perl -e "die q(EROFS)"', 'sleep x'),
  ...readOnly('kill -0 99999', 'curl --nope', 'ls --nope', 'java Nope', 'git merge nope'),
  ...readOnly(
    'npm ls left-pad',
    `node -e "fs.readFileSync('data/nope.json')"`,
    'cat /usr/share/nope',
    'cat /opt/nope/file',
  ),
  ...workspaceWrite(
    'false',
    'rmdir src',
    'git commit -qm nothing',
    'node src/nope.js',
    'mkdir src',
    'cat src/nope',
    'npm run nope',
  ),
]
