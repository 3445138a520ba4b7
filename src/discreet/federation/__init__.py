"""Joint fits of several sites: their list, their connections and their secure sum.

sites          sites.toml: hosts, ports and certificates
certificates   a key and a certificate for each site, by one command
connection     one connection to another site, certificates of both sides checked
secure_sum     Shamir shares by MPyC: the sum over all sites, and nothing else
mesh           all connections of a site; exchange public bytes, add secret integers
agreement      the public facts that must be equal at all sites, compared before any charge
"""
