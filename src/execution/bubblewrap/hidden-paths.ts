import { type Stats, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { codeOf } from '../../core/errors.ts'
import { realPathOf } from '../files/confined-path.ts'
import type { HiddenPath } from './args.ts'
import { isInside } from './protected-paths.ts'

/** Common locations below the home folder of credentials, and of what people write, read and browse in private. */
const secretsAtHome: readonly string[] = [
  // Keys and passwords.
  ...['.ssh', '.gnupg', '.putty', '.netrc', '.pgpass', '.my.cnf', '.mylogin.cnf', '.smbcredentials', '.vault-token'],
  ...['.password-store', '.local/share/keyrings', '.local/share/kwalletd', '.1password', '.config/1Password'],
  ...['.config/op', '.config/Bitwarden', '.config/Bitwarden CLI', '.config/gopass', '.config/keepassxc'],
  ...['.config/sops', '.config/age', '.config/keybase', '.local/share/keybase', '.Xauthority', '.ICEauthority'],
  ...['.bitcoin', '.ethereum', '.electrum', '.config/solana', 'Library/Keychains', '.authinfo', '.authinfo.gpg'],
  ...['.foundry/keystores', '.near-credentials', '.sui', '.aptos', '.config/rbw', '.local/share/rbw', '.lpass'],
  ...['.local/share/lpass', '.pki', '.mitmproxy', '.local/share/mkcert', '.acme.sh', '.config/syncthing', '.secrets'],
  ...['.local/state/syncthing', '.vnc', '.rhosts', '.env', '.android/adbkey', '.private_keys', '.appstoreconnect'],
  ...['.minisign', '.step', '.davfs2', '.config/borg', '.config/KeePass', '.config/JetBrains', '.config/pulse/cookie'],
  ...['.local/share/gnome-keyring', '.kde/share/apps/kwallet', '.vault_pass', '.vault_pass.txt', '.cache/rbw'],
  ...['.config/restic', '.config/borgmatic', '.borgmatic', '.config/wireguard', '.zcash', '.litecoin', '.envrc'],
  ...['.config/environment.d', '.config/Exodus', '.config/Ledger Live', '.local/share/monero', '.dotnet/corefx'],
  // Clouds and services.
  ...['.aws', '.azure', '.kube', '.minikube', '.docker', '.oci', '.aliyun', '.bluemix', '.fly', '.pulumi', '.mc'],
  ...['.config/gcloud', '.config/doctl', '.config/hcloud', '.config/rclone', '.config/stripe', '.config/heroku'],
  ...['.config/netlify', '.config/configstore', '.config/.wrangler', '.wrangler', '.cloudflared', '.s3cfg', '.boto'],
  ...['.local/share/com.vercel.cli', '.config/containers/auth.json', '.terraform.d/credentials.tfrc.json'],
  ...['.terraformrc', '.databrickscfg', '.snowflake', '.snowsql', '.dbt', '.kaggle', '.huggingface'],
  ...['.cache/huggingface/token', '.cache/huggingface/stored_tokens', '.config/remmina', '.config/filezilla'],
  ...['.config/linode-cli', '.config/scw', '.ovh.conf', '.config/exoscale', '.vultr-cli.yaml', '.config/ngrok'],
  ...['.ngrok2', '.sentryclirc', '.config/.jira', '.config/atlascli', '.config/openstack', '.config/argocd', '.argocd'],
  ...['.config/helm/registry', '.chef', '.vagrant.d/insecure_private_key', '.influxdbv2', '.dogrc', '.railway'],
  ...['.supabase', '.config/turso', '.config/neonctl', '.config/planetscale', '.expo', '.modal.toml', '.wakatime.cfg'],
  ...['.doppler', '.config/doppler', '.heroku', '.netlify', '.vercel', '.now', '.config/pulumi', '.config/sqlcl'],
  ...['.dockercfg', '.filezilla', '.local/share/remmina', '.lftp', '.config/lftp', '.local/share/lftp'],
  ...['.config/transmission', '.config/firebase', '.config/mc', '.rancher', '.config/talos', '.talos', '.actrc'],
  ...['.config/snowflake', '.duckdb/stored_secrets', '.config/gspread', '.config/helm/repositories.yaml'],
  ...['.local/share/DBeaverData', '.config/Postman', '.config/Insomnia', '.k8slens', '.config/obs-studio'],
  // Repositories and registries.
  ...['.git-credentials', '.config/git/credentials', '.config/gh', '.config/hub', '.config/glab-cli', '.travis'],
  ...['.subversion/auth', '.circleci/cli.yml', '.npmrc', '.yarnrc.yml', '.pypirc', '.config/pypoetry/auth.toml'],
  ...['.local/share/uv/credentials', '.cargo/credentials', '.cargo/credentials.toml', '.gem/credentials'],
  ...['.m2/settings.xml', '.gradle/gradle.properties', '.ivy2/.credentials', '.sbt/.credentials', '.nuget/NuGet'],
  ...['.composer/auth.json', '.config/composer/auth.json', '.config/tea', '.gitlab-runner', '.cvspass'],
  ...['.m2/settings-security.xml', '.config/NuGet', '.bundle/config', '.config/pnpm/rc', '.config/npm/npmrc'],
  ...['.gist', '.config/jfrog', '.jfrog', '.config/cachix', '.config/nix/netrc', '.hex/hex.config', '.pause'],
  ...['.luarocks/upload_config.lua', '.deno/credentials.json'],
  // Agents and editors, with their logins.
  ...['.libero', '.claude', '.codex', '.gemini', '.qwen', '.config/opencode', '.local/share/opencode', '.config/goose'],
  ...['.config/github-copilot', '.config/Code/User/globalStorage', '.config/Cursor/User/globalStorage'],
  ...['.local/share/jupyter/runtime', '.jupyter/jupyter_server_config.json', '.config/openai', '.openai'],
  ...['.anthropic', '.config/io.datasette.llm', '.ollama/id_ed25519', '.claude.json', '.config/anthropic'],
  ...['.config/crush', '.local/share/crush', '.continue', '.grok', '.config/amp', '.local/share/amp', '.cline'],
  ...['.factory', '.aider.conf.yml', '.config/llm', '.cursor/mcp.json', '.codeium', '.config/Claude', '.copilot'],
  ...['.config/VSCodium/User/globalStorage', '.config/Windsurf/User/globalStorage', '.config/mcp', '.roo/mcp.json'],
  '.config/gh-copilot',
  // Browsers, mail and messages.
  ...['.mozilla', '.config/google-chrome', '.config/chromium', '.config/BraveSoftware', '.config/microsoft-edge'],
  ...['.config/vivaldi', '.config/opera', '.var/app', 'snap/firefox', 'snap/chromium', '.thunderbird', '.msmtprc'],
  ...['.muttrc', '.mutt', '.config/mutt', '.config/neomutt', '.config/aerc', '.offlineimaprc', '.irssi', '.weechat'],
  '.config/weechat',
  ...['.config/msmtp', '.mbsyncrc', '.fetchmailrc', '.config/Signal', '.config/Slack', '.config/discord'],
  ...['.config/evolution', '.purple', '.config/teams', '.config/spotify', '.config/Mattermost', '.config/legcord'],
  ...['.config/vesktop', '.config/himalaya'],
  ...['.config/Element', '.local/share/TelegramDesktop', 'Library/Cookies', 'Library/Safari', 'Library/Messages'],
  ...['Library/Mail', 'Library/Application Support/Google/Chrome', 'Library/Application Support/Firefox'],
  // Histories.
  ...['.bash_history', '.bash_sessions', '.zsh_history', '.zhistory', '.zsh_sessions', '.python_history'],
  ...['.local/share/fish/fish_history', '.node_repl_history', '.psql_history', '.mysql_history', '.sqlite_history'],
  ...['.rediscli_history', '.irb_history', '.lesshst', '.viminfo', '.xonsh_history', '.local/share/xonsh'],
  ...['.local/share/atuin', '.config/atuin', '.config/nushell/history.txt', '.config/nushell/history.sqlite3'],
  ...['.local/share/powershell/PSReadLine', '.ipython/profile_default/history.sqlite', '.Rhistory'],
  '.julia/logs/repl_history.jl',
  // Variables that fish keeps for all shells are often tokens.
  ...['.local/state/nvim/shada', '.config/fish/fish_variables'],
]

/** Files that only root may read, and so the commands of root too. */
const secretsOfRoot = ['/etc/shadow', '/etc/shadow-', '/etc/gshadow', '/etc/gshadow-', '/etc/sudoers', '/etc/ssh']

interface HiddenOptions {
  /** Replaces the default list. */
  readonly hidden?: readonly string[] | undefined
  readonly home: string
  readonly isRoot: boolean
  /** A default path is not hidden if a root is inside it. */
  readonly roots: readonly string[]
  /** Whether a path is only a placeholder. */
  readonly isPlaceholder?: (path: string) => boolean
}

/** The paths to hide: existing ones, and missing ones that could be created inside a root. */
export function hiddenPaths(options: HiddenOptions): { there: HiddenPath[]; missing: string[] } {
  const isDefault = options.hidden === undefined
  const home = realPathOf(options.home)
  const named = options.hidden ?? [
    ...secretsAtHome.map((name) => join(home, name)),
    ...(options.isRoot ? secretsOfRoot : []),
  ]
  const there: HiddenPath[] = []
  const missing: string[] = []
  for (const name of named) {
    const found = look(name)
    const path = found || !isDefault ? realPathOf(name) : name
    if (isDefault && options.roots.some((root) => isInside(path, root))) continue
    const isInRoot = options.roots.some((root) => isInside(root, path))
    if (found && !(isInRoot && options.isPlaceholder?.(path))) there.push({ path, isFolder: found.isDirectory() })
    else if (isInRoot && look(dirname(path)) && !options.isPlaceholder?.(dirname(path))) missing.push(path)
  }
  return { there, missing }
}

function look(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    // Commands cannot read either what this process cannot access.
    if (['ENOTDIR', 'EACCES', 'ELOOP'].includes(codeOf(error) ?? '')) return undefined
    throw error
  }
}
