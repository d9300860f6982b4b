/** Users as the REST API shows them. */

export const restUser = (login: string) => {
  const url = `https://api.github.com/users/${encodeURIComponent(login)}`
  const bot = login.endsWith('[bot]')
  const page = bot ? `apps/${login.slice(0, -'[bot]'.length)}` : encodeURIComponent(login)
  return {
    login,
    id: idOf(login),
    node_id: `U_${idOf(login)}`,
    avatar_url: `https://avatars.githubusercontent.com/u/${idOf(login)}?v=4`,
    gravatar_id: '',
    url,
    html_url: `https://github.com/${page}`,
    followers_url: `${url}/followers`,
    following_url: `${url}/following{/other_user}`,
    gists_url: `${url}/gists{/gist_id}`,
    starred_url: `${url}/starred{/owner}{/repo}`,
    subscriptions_url: `${url}/subscriptions`,
    organizations_url: `${url}/orgs`,
    repos_url: `${url}/repos`,
    events_url: `${url}/events{/privacy}`,
    received_events_url: `${url}/received_events`,
    type: bot ? 'Bot' : 'User',
    site_admin: false,
  }
}

/** What `GET /user` adds for the user who asks. */
export const publicUser = (login: string) => ({
  ...restUser(login),
  name: null,
  company: null,
  blog: '',
  location: null,
  email: null,
  hireable: null,
  bio: null,
  public_repos: 1,
  public_gists: 0,
  followers: 0,
  following: 0,
  created_at: '2020-01-01T00:00:00Z',
  updated_at: '2020-01-01T00:00:00Z',
})

/** The id that GitHub gave github-actions[bot]; others get a stable one from their name. */
const idOf = (login: string): number =>
  login === 'github-actions[bot]'
    ? 41_898_282
    : [...login].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) % 1_000_000_007, 7)
