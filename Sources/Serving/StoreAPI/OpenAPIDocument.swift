// Written by Scripts/openapi from Documentation/openapi.json.

/// The description of the API (OpenAPI 3.1).
package enum OpenAPIDocument {
  /// The document as JSON, without white space.
  package static let bytes = Array((start + end).utf8)

  private static let start =
    #"""
    {"openapi":"3.1.0","info":{"title":"Store server","version":"1","license":{"name":"Apache L\#
    icense 2.0","identifier":"Apache-2.0"},"description":"Purchases, entitlements, events and c\#
    ontent grants of a store. Bodies are JSON in UTF-8, at most 64 KiB, of a purchase or change\#
     16 KiB; the head of a request has at most 7 KiB. Unknown members and repeated parameters a\#
    re refused; null is the same as a missing member. Times are RFC 3339. Errors are problem de\#
    tails (RFC 9457). Texts are limited in bytes of UTF-8; the patterns accept fewer characters\#
     if some are not ASCII. A path answers GET also for HEAD, except /v1/events. A request that\#
     is not HTTP/1.0 or HTTP/1.1 gets 505."},"servers":[{"url":"/"}],"security":[{"bearer":[]}]\#
    ,"tags":[{"name":"products","description":"What the store offers"},{"name":"purchases","des\#
    cription":"Buying, finishing and changing purchases"},{"name":"accounts","description":"The\#
     purchases of an account"},{"name":"events","description":"Changes, in commit order"},{"nam\#
    e":"content","description":"URLs of packages"},{"name":"server","description":"State and de\#
    scription of the server"}],"paths":{"/v1/products":{"get":{"operationId":"listProducts","ta\#
    gs":["products"],"summary":"Look up products","description":"Returns the products with the \#
    given identifiers, or else all, in pages of up to 200 in no particular order; the header Li\#
    nk names the next page. Without ETag if a product cannot be read now. Scope: read or purcha\#
    se.","parameters":[{"name":"id","in":"query","description":"A product identifier; may be re\#
    peated. Invalid and unknown ones are in `invalid`.","schema":{"type":"array","items":{"type\#
    ":"string"}},"style":"form","explode":true},{"name":"cursor","in":"query","description":"Fr\#
    om the header Link; ignored with id.","schema":{"$ref":"#/components/schemas/Identifier"}},\#
    {"$ref":"#/components/parameters/IfNoneMatch"}],"responses":{"200":{"description":"The prod\#
    ucts of the page, or those with the given identifiers.","headers":{"ETag":{"$ref":"#/compon\#
    ents/headers/ETag"},"Link":{"$ref":"#/components/headers/Link"}},"content":{"application/js\#
    on":{"schema":{"$ref":"#/components/schemas/Products"}}}},"304":{"description":"The catalog\#
     is the same as that of If-None-Match.","headers":{"ETag":{"$ref":"#/components/headers/ETa\#
    g"}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/respon\#
    ses/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"405":{"$ref":"#/compo\#
    nents/responses/MethodNotAllowed"},"413":{"$ref":"#/components/responses/TooLarge"},"414":{\#
    "$ref":"#/components/responses/TargetTooLong"},"431":{"$ref":"#/components/responses/HeadTo\#
    oLong"},"500":{"$ref":"#/components/responses/Failed"},"501":{"$ref":"#/components/response\#
    s/NotImplemented"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/purchases":{\#
    "post":{"operationId":"purchase","tags":["purchases"],"summary":"Buy a product","descriptio\#
    n":"The key identifies the purchase forever: repeat an interrupted request with the same ke\#
    y and the same body. 404: the product is not offered. 409: the same request is being proces\#
    sed. Scope: purchase.","parameters":[{"name":"Idempotency-Key","in":"header","required":tru\#
    e,"description":"The identifier of the transaction.","schema":{"$ref":"#/components/schemas\#
    /Transaction"}}],"requestBody":{"required":true,"content":{"application/json":{"schema":{"$\#
    ref":"#/components/schemas/NewPurchase"}}}},"responses":{"200":{"description":"The same req\#
    uest was made before: its purchase as it is now.","headers":{"Idempotent-Replayed":{"requir\#
    ed":true,"schema":{"type":"string","const":"true"}}},"content":{"application/json":{"schema\#
    ":{"$ref":"#/components/schemas/Purchase"}}}},"201":{"description":"A new purchase in the s\#
    tate purchased, deferred or failed. It is durable.","content":{"application/json":{"schema"\#
    :{"$ref":"#/components/schemas/Purchase"}}}},"400":{"$ref":"#/components/responses/BadReque\#
    st"},"401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/components/respo\#
    nses/Forbidden"},"404":{"$ref":"#/components/responses/NotFound"},"405":{"$ref":"#/componen\#
    ts/responses/MethodNotAllowed"},"409":{"$ref":"#/components/responses/Conflict"},"413":{"$r\#
    ef":"#/components/responses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLong"\#
    },"415":{"$ref":"#/components/responses/UnsupportedType"},"422":{"$ref":"#/components/respo\#
    nses/OtherRequest"},"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"$ref":"#/co\#
    mponents/responses/Failed"},"501":{"$ref":"#/components/responses/NotImplemented"},"503":{"\#
    $ref":"#/components/responses/Unavailable"}}}},"/v1/purchases:batch":{"post":{"operationId"\#
    :"purchaseBatch","tags":["purchases"],"summary":"Buy several products in one commit","descr\#
    iption":"Scope: purchase.","requestBody":{"required":true,"content":{"application/json":{"s\#
    chema":{"$ref":"#/components/schemas/Batch"}}}},"responses":{"200":{"description":"One resu\#
    lt for each purchase, in the same order.","content":{"application/json":{"schema":{"$ref":"\#
    #/components/schemas/BatchResults"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"\#
    401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/components/responses/F\#
    orbidden"},"405":{"$ref":"#/components/responses/MethodNotAllowed"},"413":{"$ref":"#/compon\#
    ents/responses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLong"},"415":{"$re\#
    f":"#/components/responses/UnsupportedType"},"431":{"$ref":"#/components/responses/HeadTooL\#
    ong"},"500":{"$ref":"#/components/responses/Failed"},"501":{"$ref":"#/components/responses/\#
    NotImplemented"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/purchases/{tra\#
    nsaction}":{"parameters":[{"$ref":"#/components/parameters/Transaction"}],"get":{"operation\#
    Id":"readPurchase","tags":["purchases"],"summary":"Read a purchase","description":"Scope: r\#
    ead or purchase.","responses":{"200":{"description":"The purchase.","content":{"application\#
    /json":{"schema":{"$ref":"#/components/schemas/Purchase"}}}},"400":{"$ref":"#/components/re\#
    sponses/BadRequest"},"401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/\#
    components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NotFound"},"405":{"$\#
    ref":"#/components/responses/MethodNotAllowed"},"413":{"$ref":"#/components/responses/TooLa\#
    rge"},"414":{"$ref":"#/components/responses/TargetTooLong"},"431":{"$ref":"#/components/res\#
    ponses/HeadTooLong"},"500":{"$ref":"#/components/responses/Failed"},"501":{"$ref":"#/compon\#
    ents/responses/NotImplemented"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1\#
    /purchases/{transaction}/finish":{"parameters":[{"$ref":"#/components/parameters/Transactio\#
    n"}],"post":{"operationId":"finishPurchase","tags":["purchases"],"summary":"Finish a purcha\#
    se","description":"409: it is deferred or failed. Scope: purchase.","responses":{"204":{"de\#
    scription":"It is finished; also if it was finished before."},"400":{"$ref":"#/components/r\#
    esponses/BadRequest"},"401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#\#
    /components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NotFound"},"405":{"\#
    $ref":"#/components/responses/MethodNotAllowed"},"409":{"$ref":"#/components/responses/Conf\#
    lict"},"413":{"$ref":"#/components/responses/TooLarge"},"414":{"$ref":"#/components/respons\#
    es/TargetTooLong"},"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"$ref":"#/com\#
    ponents/responses/Failed"},"501":{"$ref":"#/components/responses/NotImplemented"},"503":{"$\#
    ref":"#/components/responses/Unavailable"}}}},"/v1/purchases/{transaction}/approve":{"param\#
    eters":[{"$ref":"#/components/parameters/Transaction"}],"post":{"operationId":"approvePurch\#
    ase","tags":["purchases"],"summary":"Approve a deferred or interrupted purchase","descripti\#
    on":"Scope: admin.","responses":{"200":{"description":"The purchase after the change; also \#
    if it was changed like this before.","content":{"application/json":{"schema":{"$ref":"#/com\#
    ponents/schemas/Purchase"}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$r\#
    ef":"#/components/responses/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"\#
    },"404":{"$ref":"#/components/responses/NotFound"},"405":{"$ref":"#/components/responses/Me\#
    thodNotAllowed"},"409":{"$ref":"#/components/responses/Conflict"},"413":{"$ref":"#/componen\#
    ts/responses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLong"},"431":{"$ref"\#
    :"#/components/responses/HeadTooLong"},"500":{"$ref":"#/components/responses/Failed"},"501"\#
    :{"$ref":"#/components/responses/NotImplemented"},"503":{"$ref":"#/components/responses/Una\#
    vailable"}}}},"/v1/purchases/{transaction}/decline":{"parameters":[{"$ref":"#/components/pa\#
    rameters/Transaction"}],"post":{"operationId":"declinePurchase","tags":["purchases"],"summa\#
    ry":"Decline a deferred purchase","description":"Scope: admin.","requestBody":{"required":f\#
    alse,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Change"}}}},"res\#
    ponses":{"200":{"description":"The purchase after the change; also if it was changed like t\#
    his before.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Purchase\#
    "}}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/respon\#
    ses/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/compo\#
    nents/responses/NotFound"},"405":{"$ref":"#/components/responses/MethodNotAllowed"},"409":{\#
    "$ref":"#/components/responses/Conflict"},"413":{"$ref":"#/components/responses/TooLarge"},\#
    "414":{"$ref":"#/components/responses/TargetTooLong"},"415":{"$ref":"#/components/responses\#
    /UnsupportedType"},"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"$ref":"#/com\#
    ponents/responses/Failed"},"501":{"$ref":"#/components/responses/NotImplemented"},"503":{"$\#
    ref":"#/components/responses/Unavailable"}}}},"/v1/purchases/{transaction}/refund":{"parame\#
    ters":[{"$ref":"#/components/parameters/Transaction"}],"post":{"operationId":"refundPurchas\#
    e","tags":["purchases"],"summary":"Record that the price was paid back","description":"Scop\#
    e: admin.","requestBody":{"required":false,"content":{"application/json":{"schema":{"$ref":\#
    "#/components/schemas/Change"}}}},"responses":{"200":{"description":"The purchase after the\#
     change; also if it was changed like this before.","content":{"application/json":{"schema":\#
    {"$ref":"#/components/schemas/Purchase"}}}},"400":{"$ref":"#/components/responses/BadReques\#
    t"},"401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/components/respon\#
    ses/Forbidden"},"404":{"$ref":"#/components/responses/NotFound"},"405":{"$ref":"#/component\#
    s/responses/MethodNotAllowed"},"409":{"$ref":"#/components/responses/Conflict"},"413":{"$re\#
    f":"#/components/responses/TooLarge"},"414":{"$ref":"#/components/responses/TargetTooLong"}\#
    ,"415":{"$ref":"#/components/responses/UnsupportedType"},"431":{"$ref":"#/components/respon\#
    ses/HeadTooLong"},"500":{"$ref":"#/components/responses/Failed"},"501":{"$ref":"#/component\#
    s/responses/NotImplemented"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/pu\#
    rchases/{transaction}/revoke":{"parameters":[{"$ref":"#/components/parameters/Transaction"}\#
    ],"post":{"operationId":"revokePurchase","tags":["purchases"],"summary":"Take the product b\#
    ack","description":"Scope: admin.","requestBody":{"required":false,"content":{"application/\#
    json":{"schema":{"$ref":"#/components/schemas/Change"}}}},"responses":{"200":{"description"\#
    :"The purchase after the change; also if it was changed like this before.","content":{"appl\#
    ication/json":{"schema":{"$ref":"#/components/schemas/Purchase"}}}},"400":{"$ref":"#/compon\#
    ents/responses/BadRequest"},"401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$r\#
    ef":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/NotFound"},"4\#
    05":{"$ref":"#/components/responses/MethodNotAllowed"},"409":{"$ref":"#/components/response\#
    s/Conflict"},"413":{"$ref":"#/components/responses/TooLarge"},"414":{"$ref":"#/components/r\#
    esponses/TargetTooLong"},"415":{"$ref":"#/components/responses/UnsupportedType"},"431":{"$r\#
    ef":"#/components/responses/HeadTooLong"},"500":{"$ref":"#/components/responses/Failed"},"5\#
    01":{"$ref":"#/components/responses/NotImplemented"},"503":{"$ref":"#/components/responses/\#
    Unavailable"}}}},"/v1/purchases/{transaction}/reverse":{"parameters":[{"$ref":"#/components\#
    /parameters/Transaction"}],"post":{"operationId":"reversePurchase","tags":["purchases"],"su\#
    mmary":"Undo a refund or a revocation","description":"Scope: admin.","responses":{"200":{"d\#
    escription":"The purchase after the change; also if it was changed like this before.","cont\#
    ent":{"application/json":{"schema":{"$ref":"#/components/schemas/Purchase"}}}},"400":{"$ref\#
    ":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/responses/Unauthorized"}\#
    ,"403":{"$ref":"#/components/responses/Forbidden"},"404":{"$ref":"#/components/responses/No\#
    tFound"},"405":{"$ref":"#/components/responses/MethodNotAllowed"},"409":{"$ref":"#/componen\#
    ts/responses/Conflict"},"413":{"$ref":"#/components/responses/TooLarge"},"414":{"$ref":"#/c\#
    omponents/responses/TargetTooLong"},"431":{"$ref":"#/components/responses/HeadTooLong"},"50\#
    0":{"$ref":"#/components/responses/Failed"},"501":{"$ref":"#/components/responses/NotImplem\#
    ented"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/accounts/{account}/enti\#
    tlements":{"parameters":[{"$ref":"#/components/parameters/Account"}],"get":{"operationId":"\#
    listEntitlements","tags":["accounts"],"summary":"List what an account can restore","descrip\#
    tion":"Every restorable purchase in the state purchased, finished or not. Scope: read or pu\#
    rchase.","parameters":[{"name":"since","in":"query","description":"The `revision` of the pr\#
    evious page.","schema":{"type":"integer","format":"int64","minimum":0,"maximum":92233720368\#
    54775807,"default":0}},{"name":"limit","in":"query","schema":{"type":"integer","minimum":1,\#
    "maximum":1000,"default":1000}},{"$ref":"#/components/parameters/IfNoneMatch"}],"responses"\#
    :{"200":{"description":"A page in the order of the last changes.","headers":{"ETag":{"$ref"\#
    :"#/components/headers/ETag"}},"content":{"application/json":{"schema":{"$ref":"#/component\#
    s/schemas/Purchases"}}}},"304":{"description":"The page is the same as that of If-None-Matc\#
    h.","headers":{"ETag":{"$ref":"#/components/headers/ETag"}}},"400":{"$ref":"#/components/re\#
    sponses/BadRequest"},"401":{"$ref":"#/components/responses/Unauthorized"},"403":{"$ref":"#/\#
    components/responses/Forbidden"},"405":{"$ref":"#/components/responses/MethodNotAllowed"},"\#
    413":{"$ref":"#/components/responses/TooLarge"},"414":{"$ref":"#/components/responses/Targe\#
    tTooLong"},"431":{"$ref":"#/components/responses/HeadTooLong"},"500":{"$ref":"#/components/\#
    responses/Failed"},"501":{"$ref":"#/components/responses/NotImplemented"},"503":{"$ref":"#/\#
    components/responses/Unavailable"}}}},"/v1/accounts/{account}/history":{"parameters":[{"$re\#
    f":"#/components/parameters/Account"}],"get":{"operationId":"listHistory","tags":["accounts\#
    "],"summary":"List all purchases of an account","description":"Also consumables, and purcha\#
    ses in other states. Scope: read or purchase.","parameters":[{"name":"since","in":"query","\#
    description":"The `revision` of the previous page.","schema":{"type":"integer","format":"in\#
    t64","minimum":0,"maximum":9223372036854775807,"default":0}},{"name":"limit","in":"query","\#
    schema":{"type":"integer","minimum":1,"maximum":1000,"default":1000}},{"$ref":"#/components\#
    /parameters/IfNoneMatch"}],"responses":{"200":{"description":"A page in the order of the la\#
    st changes.","headers":{"ETag":{"$ref":"#/components/headers/ETag"}},"content":{"applicatio\#
    n/json":{"schema":{"$ref":"#/components/schemas/Purchases"}}}},"304":{"description":"The pa\#
    ge is the same as that of If-None-Match.","headers":{"ETag":{"$ref":"#/components/headers/E\#
    Tag"}}},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/components/resp\#
    onses/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"405":{"$ref":"#/com\#
    ponents/responses/MethodNotAllowed"},"413":{"$ref":"#/components/responses/TooLarge"},"414"\#
    :{"$ref":"#/components/responses/TargetTooLong"},"431":{"$ref":"#/components/responses/Head\#
    TooLong"},"500":{"$ref":"#/components/responses/Failed"},"501":{"$ref":"#/components/respon\#
    ses/NotImplemented"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v1/accounts/{\#
    account}/erase":{"parameters":[{"$ref":"#/components/parameters/Account"}],"post":{"operati\#
    onId":"eraseAccount","tags":["accounts"],"summary":"Replace the name of an account by a ran\#
    dom one","description":"Scope: admin.","responses":{"204":{"description":"No purchase has t\#
    he name any more."},"400":{"$ref":"#/components/responses/BadRequest"},"401":{"$ref":"#/com\#
    ponents/responses/Unauthorized"},"403":{"$ref":"#/components/responses/Forbidden"},"405":{"\#
    $ref":"#/components/responses/MethodNotAllowed"},"413":{"$ref":"#/components/responses/TooL\#
    arge"},"414":{"$ref":"#/components/responses/TargetTooLong"},"431":{"$ref":"#/components/re\#
    sponses/HeadTooLong"},"500":{"$ref":"#/components/responses/Failed"},"501":{"$ref":"#/compo\#
    nents/responses/NotImplemented"},"503":{"$ref":"#/components/responses/Unavailable"}}}},"/v\#
    1/events":{"get":{"operationId":"listEvents","tags":["events"],"summary":"Wait for events",\#
    "description":"With `Accept: text/event-stream`, the response is a stream. 410: the cursor \#
    is older than 30 days, or of another ledger, such as before a restore. Read the entitlement\#
    s then. Scope: read or purchase.","parameters":[{"name":"after","in":"query","description":\#
    "The cursor of the last event; without it, only new events.","schema":{"$ref":"#/components\#
    /schemas/Cursor"}},{"name":"wait","in":"query","description":"Seconds to wait for the first\#
     event.","schema":{"type":"integer","minimum":0,"maximum":30,"default":0}},{"name":"limit",\#
    "in":"query","schema":{"type":"integer","minimum":1,"maximum":200,"default":200}},{"name":"\#
    Last-Event-ID","in":"header","description":"Like `after`, for a stream that continues; igno\#
    red for a response in JSON.","schema":{"$ref":"#/components/schemas/Cursor"}}],"responses":\#
    {"200":{"description":"Events, or none after `wait`. A stream sends each event with its cur\#
    sor as id, its kind as event an
    """#
}
