// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are lines of a shell, not templates
import type { AttackClass } from '../attack.ts'

const many = Array.from({ length: 40 }, () => 'notes.txt').join(' ')
const otherRepository =
  'git init -q @HOME/other; cp @OUT/secret.txt @HOME/other/; git -C @HOME/other add -A; git -C @HOME/other commit -qm one'

const homeAsCommonFolder = 'echo @HOME > .git/commondir; touch ~/HEAD; mkdir ~/objects ~/refs'

/** Reads of files outside the workspace, by their paths. */
export const reads: AttackClass = {
  name: 'reads',
  leak: 'shown',
  attacks: [
    { name: 'glob in a name', line: 'cat @HOME/.ssh/id_rs?' },
    { name: 'glob of a folder', line: 'cat ~/.ss*/*' },
    { name: 'glob above the workspace', line: 'cat ../.a*/cred*' },
    { name: 'glob of no program', line: 'for f in @OUT/s*; do while read -r l; do echo "$l"; done < $f; done' },
    {
      name: 'names by a glob alone',
      line: 'echo ~/.keys/*',
      setup: 'mkdir ~/.keys; : > ~/.keys/@SECRET',
      isPlainRead: true,
    },
    { name: 'names behind a link', line: 'ls -LR', setup: 'touch @OUT/@SECRET; ln -s @OUT docs/n', isPlainRead: true },
    {
      name: 'sizes behind a link',
      line: 'du -aL .',
      setup: 'touch @OUT/@SECRET; ln -s @OUT docs/n',
      isPlainRead: true,
    },
    { name: 'link behind a glob', line: 'cat docs/*.md', setup: 'ln -s ~/.ssh/id_rsa docs/a.md' },
    {
      name: 'chain of links',
      line: 'head -n 5 docs/a',
      setup: 'ln -s b docs/a; ln -s ../src/c docs/b; ln -s ~/.netrc src/c',
    },
    { name: 'parent of a link', line: 'cat link/../secret.txt', setup: 'ln -s @OUT/deep link' },
    { name: 'parent of a link by cd', line: 'cd -P link && cat ../secret.txt', setup: 'ln -s @OUT/deep link' },
    { name: 'recursion over links', line: 'grep -R canary .', setup: 'ln -s @OUT docs/link' },
    { name: 'recursion by another flag', line: 'grep -d recurse canary docs/link/', setup: 'ln -s @OUT docs/link' },
    { name: 'recursion by find', line: 'find -L docs -name "s*" -exec cat {} +', setup: 'ln -s @OUT docs/link' },
    { name: 'recursion by rg', line: 'rg -L canary', setup: 'ln -s @OUT docs/link', needs: ['rg'] },
    { name: 'braces', line: 'cat @OUT/{keep,secret}.txt' },
    { name: 'braces of folders', line: 'cat {@HOME/.aws,@OUT}/{credentials,none}', needs: [] },
    { name: 'more than 32 paths', line: `cat ${many} docs/l`, setup: 'ln -s @OUT/secret.txt docs/l' },
    { name: 'list for xargs', line: 'xargs cat < list', setup: 'echo @OUT/secret.txt > list' },
    { name: 'redirect', line: 'cat < @OUT/secret.txt' },
    { name: 'redirect in a substitution', line: 'echo "$(< @OUT/secret.txt)"' },
    { name: 'descriptor', line: 'exec 9< @OUT/secret.txt; cat <&9' },
    { name: 'source', line: '. @OUT/secret.txt' },
    { name: 'variable made of parts', line: 'a=@HOME/.ss; b=h/id_; cat "$a${b}rsa"' },
    { name: 'no PATH', line: 'unset PATH; /bin/cat @OUT/secret.txt' },
    { name: 'jq import behind a comment', line: 'jq -n -L @OUT \'# x\nimport "data" as $d; $d\'', needs: ['jq'] },
    { name: 'jq raw file', line: "jq -n --rawfile x @OUT/secret.txt '$x'", needs: ['jq'] },
    { name: 'jq arguments of a file', line: 'jq -nr --slurpfile x @OUT/data.json "\\$x"', needs: ['jq'] },
    { name: 'abbreviated flag', line: 'wc --files0-f=@OUT/secret.txt' },
    { name: 'attached flag', line: 'file -f@OUT/secret.txt', needs: ['file'] },
    { name: 'error message of date', line: 'date -f @OUT/secret.txt' },
    { name: 'error message of ssh', line: 'ssh -F @OUT/secret.txt x', needs: ['ssh'] },
    { name: 'sed that reads', line: "sed 'r @OUT/secret.txt' notes.txt" },
    { name: 'awk getline', line: 'awk \'BEGIN { getline l < "@OUT/secret.txt"; print l }\'' },
    { name: 'perl', line: 'perl -pe 1 @OUT/secret.txt', needs: ['perl'] },
    { name: 'python', line: 'python3 -c \'print(open("@OUT/secret.txt").read())\'', needs: ['python3'] },
    { name: 'node', line: 'node -p \'fs.readFileSync("@OUT/secret.txt", "utf8")\'', needs: ['node'] },
    { name: 'preprocessor', line: 'echo \'#include "@OUT/secret.txt"\' | gcc -E -', needs: ['gcc'] },
    { name: 'archive to the output', line: 'tar cf - -C @OUT secret.txt' },
    { name: 'encoded', line: 'base64 @OUT/secret.txt' },
    { name: 'reversed', line: 'rev ~/.ssh/id_rsa' },
    {
      name: 'database that reads files',
      line: 'sqlite3 :memory: "select readfile(\'@OUT/secret.txt\')"',
      needs: ['sqlite3'],
    },
    { name: 'file address', line: 'curl -s file://@OUT/secret.txt', needs: ['curl'] },
    { name: 'list of addresses', line: 'wget -O- -i @OUT/secret.txt --base=file:///', needs: ['wget'] },
    { name: 'editor', line: 'ed -s @OUT/secret.txt <<< ,p', needs: ['ed'] },
    { name: 'diff', line: 'diff --to-file=@OUT/secret.txt notes.txt' },
    { name: 'git diff outside', line: 'git diff --no-index notes.txt @OUT/secret.txt' },
    { name: 'git grep outside', line: 'git -C @OUT grep --no-index canary' },
    { name: 'git blame with other contents', line: 'git blame --contents @OUT/secret.txt notes.txt' },
    {
      name: 'another repository',
      line: 'git -C ~/other show HEAD:secret.txt',
      setup: otherRepository,
      isPlainRead: true,
    },
    {
      name: 'objects of another repository',
      line: 'git cat-file -p $(cat id)',
      setup: `${otherRepository}
        echo ~/other/.git/objects > .git/objects/info/alternates; git -C ~/other rev-parse HEAD:secret.txt > id`,
      isPlainRead: true,
    },
    {
      name: 'workspace that claims to belong to another repository',
      line: 'cat ~/other/.git/COMMIT_EDITMSG ~/other/secret.txt; git show HEAD:secret.txt',
      setup: `${otherRepository}; rm -rf .git; echo "gitdir: @HOME/other/.git" > .git`,
      isPlainRead: true,
    },
    {
      name: 'git folder that names secrets as its own',
      line: 'cat ~/.ssh/id_rsa',
      setup: 'rm -rf .git; echo "gitdir: @HOME/.ssh" > .git',
    },
    {
      name: 'common folder that is the home',
      line: 'cat ~/notes/diary.txt',
      setup: homeAsCommonFolder,
      isPlainRead: true,
    },
    { name: 'credentials in a common folder that is the home', line: 'cat ~/.netrc', setup: homeAsCommonFolder },
    {
      name: 'home that is a repository',
      line: 'cat ~/notes/diary.txt',
      setup: 'rm -rf .git; git init -q @HOME',
      isPlainRead: true,
    },
    {
      name: 'credentials in a home that is a repository',
      line: 'cat ~/.ssh/id_rsa',
      setup: 'rm -rf .git; git init -q @HOME',
    },
    { name: 'workspace that is the home', cwd: '@HOME', line: 'cat .bash_history .cargo/credentials.toml' },
    { name: 'workspace that holds the home', cwd: '@HOME/..', line: 'cat home/.ssh/id_rsa' },
    {
      name: 'empty git folder above the workspace',
      cwd: '@OUT/deep',
      line: 'cat ../secret.txt',
      setup: 'mkdir @OUT/.git',
    },
    {
      name: 'git file above the workspace',
      cwd: '@OUT/deep',
      line: 'cat ../secret.txt',
      setup: 'echo "gitdir: @WORK/.git" > @OUT/.git',
    },
    {
      name: 'git folder that is a link into the home',
      line: 'cat ~/.ssh/id_rsa; cat .git/id_rsa',
      setup: 'rm -rf .git; ln -s ~/.ssh .git',
    },
    {
      name: 'worktree above the workspace',
      line: 'git ls-files; cat @OUT/secret.txt',
      setup: 'git config core.worktree @OUT',
    },
    { name: 'credentials beside a toolchain', line: 'cat ~/.cargo/credentials.toml' },
    { name: 'credentials beside own programs', line: 'cat ~/.local/share/keyrings/login.keyring' },
    ...[
      ['credentials in a folder that own programs need', '.local/share/uv/credentials/credentials.toml'],
      ['token in a cache that can be written', '.cache/huggingface/token'],
      ['keys of remote disks', '.config/rclone/rclone.conf'],
      ['cookies of a browser', '.config/BraveSoftware/Default/Cookies'],
      ['history of another shell', '.local/share/fish/fish_history'],
      ['login of another agent', '.local/share/opencode/auth.json'],
      ['key of an own authority', '.local/share/mkcert/rootCA-key.pem'],
      ['wallet', '.sui/sui_config/sui.keystore'],
      ['connections of a database tool', '.local/share/DBeaverData/workspace6/data-sources.json'],
      ['variables of another shell', '.config/fish/fish_variables'],
      ['history that shells share', '.local/share/atuin/history.db'],
      ['history of an editor', '.local/state/nvim/shada/main.shada'],
      ['login of a further agent', '.claude.json'],
      ['keys of backups', '.config/borg/keys/host'],
      ['passwords of an editor', '.config/JetBrains/one/c.kdbx'],
      ['registries of a further package manager', '.config/pnpm/rc'],
      ['key of signatures', '.minisign/minisign.key'],
      ['settings with variables', '.env'],
      ['login of a program that no list knows', '.config/unheard-of/profile/credentials.json'],
      ['token of a program that no list knows', '.unheard-of-token'],
      ['key of a program that no list knows', '.unheard-of/server.pem'],
      ['key beside own programs', '.local/lib/keys/server.pem'],
      ['key of a toolchain', '.cargo/keys/server.key'],
      ['servers of an editor', '.cursor/mcp.json'],
      ['state of an editor', '.config/VSCodium/User/globalStorage/state.vscdb'],
      ['servers of a desktop agent', '.config/Claude/claude_desktop_config.json'],
      ['connections of a warehouse', '.config/snowflake/connections.toml'],
      ['secrets of a database', '.duckdb/stored_secrets/s3'],
      ['network of the person', '.config/wireguard/wg0.conf'],
      ['passwords of nix', '.config/nix/netrc'],
      ['variables of the session', '.config/environment.d/10.conf'],
      ['variables of the home folder', '.envrc'],
      ['history of PowerShell', '.local/share/powershell/PSReadLine/ConsoleHost_history.txt'],
      ['history of Julia', '.julia/logs/repl_history.jl'],
    ].map(([name = '', path]) => ({
      name,
      line: `cat ~/${path}`,
      setup: `mkdir -p "$(dirname ~/${path})"; echo @SECRET > ~/${path}; chmod 600 ~/${path}`,
    })),
    ...[
      ['token in settings of a toolchain', '.cargo/config.toml', '[registry]\\ntoken = "@SECRET"'],
      ['token beside own programs', '.local/lib/node_modules/npm/npmrc', '//localhost/:_authToken=@SECRET'],
      ['password in settings of curl', '.curlrc', 'user = "me:@SECRET"'],
    ].map(([name = '', path, text]) => ({
      name,
      line: `cat ~/${path}`,
      setup: `mkdir -p "$(dirname ~/${path})"; printf '${text}\\n' > ~/${path}`,
    })),
    {
      name: 'token in settings of the project',
      line: 'cat .npmrc',
      setup: 'echo //localhost/:_authToken=@SECRET > .npmrc',
    },
    { name: 'folder above own programs', line: 'cat ~/notes/diary.txt', isPlainRead: true },
    {
      name: 'folder of a program behind a link',
      line: 'cat ~/notes/diary.txt',
      setup:
        'printf "#!/bin/sh\\n" > ~/notes/run.sh; chmod +x ~/notes/run.sh; ln -s ../../notes/run.sh ~/.local/bin/run',
      isPlainRead: true,
    },
    {
      name: 'link that changes all the time',
      line: 'for i in $(seq 300); do ln -sfn notes.txt l; ln -sfn @OUT/secret.txt l; cat l; done | sort -u',
    },
    { name: 'very long line', line: `cat @OUT/secret.txt # ${'x'.repeat(60_000)}` },
    {
      name: 'hard link',
      line: 'cat docs/hard.txt',
      setup: 'ln @OUT/secret.txt docs/hard.txt',
      known: 'reads a hard link',
    },
  ],
}

/** Opens a segment of shared memory by its key. */
const shared = `python3 -c '
import ctypes
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
address = libc.shmat(libc.shmget(@KEY, 4096, 0o1600), None, 0)
`

/** Reads by way of /proc and of other processes. */
export const processes: AttackClass = {
  name: '/proc and other processes',
  leak: 'shown',
  attacks: [
    { name: 'environment', line: 'cat /proc/@PID/environ' },
    { name: 'environment by a glob', line: "tr '\\0' '\\n' < /proc/@PID/enviro?" },
    { name: 'command line', line: 'ps -eo args', needs: ['ps'] },
    { name: 'command line by /proc', line: 'cat /proc/[0-9]*/cmdline' },
    { name: 'folder of a process', line: 'cat /proc/@PID/cwd/secret.txt' },
    { name: 'root of a process', line: 'cat /proc/@PID/root@OUT/secret.txt' },
    { name: 'own root', line: 'cat /proc/self/root@OUT/secret.txt' },
    { name: 'root of the first process', line: 'cat /proc/1/root@OUT/secret.txt' },
    { name: 'descriptor of a process', line: 'cat /proc/@PID/fd/0' },
    {
      name: 'memory of a process',
      line: `python3 -c '
import re
maps = open("/proc/@PID/maps").read()
a, b = [int(x, 16) for x in re.search(r"([0-9a-f]+)-([0-9a-f]+) \\S+ \\S+ \\S+ \\S+ +\\[stack\\]", maps).groups()]
m = open("/proc/@PID/mem", "rb"); m.seek(a); print(re.findall(rb"canary-\\w+", m.read(b - a)))'`,
      needs: ['python3'],
    },
    { name: 'debugger', line: "gdb -p @PID -batch -ex 'info proc cmdline' -ex 'info proc cwd'", needs: ['gdb'] },
    {
      name: 'descriptor taken by pidfd',
      line: `python3 -c '
import ctypes, os
fd = ctypes.CDLL(None).syscall(438, os.pidfd_open(@PID), 0, 0)
print(os.pread(fd, 100, 0))'`,
      needs: ['python3'],
    },
    {
      name: 'shared memory',
      line: 'cat /dev/shm/@ID',
      setup: 'echo @SECRET > /dev/shm/@ID',
    },
    {
      name: 'shared memory of processes',
      line: `${shared}print(ctypes.string_at(address, 23))'`,
      setup: `${shared}ctypes.memmove(address, b"@SECRET", 23)'`,
      cleanup: 'ipcrm -M @KEY',
      needs: ['python3', 'ipcrm'],
    },
    // With a network it is that of this machine; to connect to one of them is another attack.
    { name: 'sockets of processes', line: 'grep -q @ID /proc/net/unix && echo @SECRET', isPlainRead: true },
    { name: 'files of a process', line: 'lsof -p @PID && echo @SECRET', needs: ['lsof'] },
    { name: 'log of the kernel', line: 'dmesg > /dev/null && echo @SECRET', needs: ['dmesg'] },
    { name: 'temporary file of the person', line: 'cat @TMP', setup: 'echo @SECRET > @TMP' },
  ],
}
