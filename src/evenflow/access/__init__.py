"""Who may come in, and what they may do: keys, signed tokens, revocation. For every door.

The operator has a *signing key* and issues *tokens* with it: who the bearer is, what it may do, and
until when (`tokens`, pure). A door has the public half (`keys`) and a list of revoked tokens
(`revocation`), and needs nobody's help to check a token. Clients trust the operator's CA, and know
doors by its certificate (`keys`).
"""
